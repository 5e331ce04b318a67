// All of mtf::mpi_compiled.
#include <mtf/mpi/code/collectives.hpp>
#include <mtf/mpi/code/environment.hpp>
#include <mtf/mpi/code/error.hpp>
