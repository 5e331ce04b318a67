// A program too large for the machine, however it is split.
// expect[GNU]: error_no_layout_fits<mtf::mesh<data, model>
// expect[Clang]: error_no_layout_fits<mtf::mesh<data, model>
// devices: none
// expect: error: static assertion failed.*mtf: under every layout on this mesh the program needs more memory than a rank
#include "names.hpp"

#include <mtf/plan/best_layout.hpp>

constexpr auto tiny = [] {
  mtf::machine_description m;
  m.add({mtf::short_name(""), mtf::limit::memory, 0, mtf::speed_table(1e10)});
  m.in_node = m.between_nodes = mtf::machine_description::links(1e-6, 1e9);
#ifdef MTF_CONTROL
  m.memory = 1'000'000;
#else
  m.memory = 1000;
#endif
  return m;
}();
constexpr auto doubled = [](auto const& x) { return x + x; };
constexpr auto best = mtf::best_layout_of<machine, tiny>(doubled, mtf::input<float, batch, vocab>{});
