#pragma once
// What an executable is built for, and what it runs on.
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#if MTF_EXAMPLE_RANKS_AS_THREADS
#include <mtf/threads.hpp>
#endif

#include "program.hpp"

namespace transformer {

using backend = mtf::kokkos_backend<>;  // of a rank that is a process

}  // namespace transformer
