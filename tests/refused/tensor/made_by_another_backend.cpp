// The place of a tensor names another backend than the one that the program runs on.
// devices: none
// expect: static assertion failed.*mtf: a tensor.s place names another kokkos_backend
#include "names.hpp"
#include <mtf/kokkos.hpp>
#include <mtf/threads/run.hpp>

int main(int argc, char** argv) {
  using serial = mtf::kokkos_backend<Kokkos::Serial>;
#ifdef MTF_CONTROL
  using backend = serial;
#else
  using backend = mtf::kokkos_backend<Kokkos::OpenMP>;
#endif
  return mtf::run_threads<where::mesh_type, serial>(argc, argv, [](auto& machine) {
    auto const x = mtf::zeros<mtf::place<float, where, backend>::tensor<batch, hidden>>(machine);
  });
}
