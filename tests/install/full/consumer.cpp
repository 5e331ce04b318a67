// A program with local compute and collectives, of two translation units that both include everything.
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

int another();

int main() { return another(); }
