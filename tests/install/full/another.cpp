#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

int another();
int another() { return 0; }
