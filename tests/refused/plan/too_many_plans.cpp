// Layouts of which most have to be planned, as no layout fits the machine's memory: the compiler plans so many.
// expect[GNU]: error_too_many_layouts<64>
// expect[Clang]: error_too_many_layouts<64>
// devices: none
// expect: error: static assertion failed.*mtf: best_layout would have to look at too many layouts
#include "names.hpp"

#include <mtf/plan/best_layout.hpp>

struct a : mtf::axis<"a", 2> {};
struct b : mtf::axis<"b", 2> {};
struct c : mtf::axis<"c", 2> {};
#ifdef MTF_CONTROL
using on = mtf::mesh<a>;
#else
using on = mtf::mesh<a, b, c>;
#endif
constexpr auto ours = [] {
  mtf::machine_description m;
  m.add({mtf::short_name(""), mtf::limit::memory, 0, mtf::speed_table(1e10)});
  m.in_node = m.between_nodes = mtf::machine_description::links(1e-6, 1e9);
#ifndef MTF_CONTROL
  m.memory = 1;
#endif
  return m;
}();
constexpr auto doubled = [](auto const& x) { return x + x; };
constexpr auto best = mtf::best_layout_of<on, ours>(doubled, mtf::input<float, batch, vocab, hidden, heads>{});
