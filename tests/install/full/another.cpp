#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>

int another();
int another() { return 0; }
