// Kokkos for all tests of one program.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/kokkos/backend/backend.hpp>

int main(int argc, char** argv) {
  mtf::kokkos_backend<>::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
