#pragma once
// The NCCL backend: collectives over mesh axes between GPUs, on the stream of the work, so that no rank waits for its
// device. A program that includes this has them behind mtf::run, wherever its backend computes on GPUs. Compiled by
// nvcc.
#include <Kokkos_Core.hpp>
#include <mtf/kokkos/backend/backend.hpp>
#include <mtf/mpi/run.hpp>
#include <mtf/nccl/collectives.hpp>

namespace mtf::mpi {

template <>
struct ranks_for<kokkos_backend<Kokkos::Cuda>> {
  using type = nccl_collectives;
};

}  // namespace mtf::mpi
