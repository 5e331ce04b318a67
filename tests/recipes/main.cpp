// Kokkos for all recipes.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>

int main(int argc, char** argv) {
  mtf::kokkos_backend<Kokkos::Serial>::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
