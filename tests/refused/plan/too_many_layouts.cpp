// Five axes and four dimensions: more layouts than the compiler looks at.
// expect[GNU]: error_too_many_layouts<1024>
// expect[Clang]: error_too_many_layouts<1024>
// devices: none
// expect: error: static assertion failed.*mtf: best_layout would have to look at too many layouts
#include "names.hpp"

#include <mtf/plan/best_layout.hpp>

struct a : mtf::axis<"a", 2> {};
struct b : mtf::axis<"b", 2> {};
struct c : mtf::axis<"c", 2> {};
struct d : mtf::axis<"d", 2> {};
struct e : mtf::axis<"e", 2> {};
using cube = mtf::mesh<a, b, c, d, e>;
#ifdef MTF_CONTROL
using on = mtf::layout<cube, mtf::split<batch, a, b>, mtf::split<vocab, c, d>>;
#else
using on = cube;
#endif
constexpr auto fast = [] {
  mtf::machine_description m;
  m.add({mtf::short_name(""), mtf::limit::memory, 0, mtf::speed_table(1e10)});
  m.in_node = m.between_nodes = mtf::machine_description::links(1e-6, 1e9);
  return m;
}();
constexpr auto doubled = [](auto const& x) { return x + x; };
constexpr auto best = mtf::best_layout_of<on, fast>(doubled, mtf::input<float, batch, vocab, hidden, heads>{});
