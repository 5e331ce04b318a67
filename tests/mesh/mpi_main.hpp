#pragma once
// The main function of tests that run under mpirun: MPI and Kokkos around doctest. Only rank 0 prints, unless a rank
// fails; all ranks return non-zero if one does.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>

#include <sstream>

namespace mpi_main {

inline int ranks() {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}

}  // namespace mpi_main

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, failed = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  {
    mtf::kokkos_backend<>::session const session(argc, argv);
    doctest::Context context(argc, argv);
    std::ostringstream silent;
    if (rank != 0) context.setCout(&silent);
    failed = context.run();
    if (rank != 0 && failed != 0) std::fputs(silent.str().c_str(), stderr);
  }
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
