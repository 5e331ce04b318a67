// Names mean nothing: under other names of dimensions and other numbers of axes every rule finds the same, at the places to
// which the names went; and the order of operands matters to no verdict.
#include <algorithm>

#include <mtf/detail/einsum_rule.hpp>

#include "all_ways.hpp"

using mtf::axis_mask;
using mtf::detail::check_sharding;
using mtf::detail::finding;
using mtf::detail::linearity;
using mtf::detail::merge_operands;
using mtf::detail::sharding;

/// Axis a is called to[a]; dimension i is called by another name, not in the same order.
struct renaming {
  std::array<int, 3> to;
  constexpr axis_mask of(axis_mask axes) const {
    axis_mask m = 0;
    for (std::size_t a = 0; a < to.size(); ++a)
      if ((axes >> a) & 1U) m |= 1U << static_cast<unsigned>(to[a]);
    return m;
  }
  constexpr sharding of(sharding const& s) const {
    sharding r = s;
    r.partial = of(s.partial);
    for (int d = 0; d < s.rank; ++d) {
      r[d].id = 7919 * (100 - s[d].id);
      for (std::size_t i = 0; i < static_cast<std::size_t>(s[d].cut.size); ++i)
        r[d].cut.at[i] = static_cast<std::uint8_t>(to[s[d].cut.at[i]]);
    }
    return r;
  }
  constexpr mtf::mesh_shape of(mtf::mesh_shape const& m) const {
    auto r = m;
    r.node_axes = of(m.node_axes);
    for (std::size_t a = 0; a < static_cast<std::size_t>(m.rank); ++a)
      r.extent[static_cast<std::size_t>(to[a])] = m.extent[a];
    return r;
  }
};

/// The same places are found; the axis is one of those that the places have in common: which of several, their numbers say.
constexpr bool same(finding const& f, finding const& renamed, renaming const& by, auto const& in) {
  if (f.what != renamed.what || f.i != renamed.i || f.di != renamed.di || f.j != renamed.j || f.dj != renamed.dj) return false;
  if (f.what == finding::kind::two_dims_on_axis || f.what == finding::kind::cut_where_partial) {
    auto const& x = in[static_cast<std::size_t>(f.i)];
    auto const& y = in[static_cast<std::size_t>(f.j)];
    axis_mask const both = x[f.di].cut.mask() & (f.what == finding::kind::two_dims_on_axis ? y[f.dj].cut.mask() : x.partial);
    return ((both >> f.axis) & 1U) && ((by.of(both) >> renamed.axis) & 1U);
  }
  return f.axis == renamed.axis;
}

constexpr std::array linearities{linearity::none, linearity::additive, linearity::multiplicative, linearity::first};

constexpr bool merged_alike(sharding const& a, sharding const& b, renaming const& by) {
  for (linearity const l : linearities) {
    auto const x = merge_operands<2>({a, b}, l), y = merge_operands<2>({by.of(a), by.of(b)}, l);
    if (!same(x.wrong, y.wrong, by, std::array{a, b})) return false;
    if (x.wrong.what != finding::kind::none) return true;
    if (!(by.of(x.together) == y.together)) return false;
    for (std::size_t o = 0; o < 2; ++o)
      if (by.of(x.complete[o]) != y.complete[o]) return false;
  }
  return true;
}

/// The other order finds as much, and where the operation does not tell its operands apart, completes and passes the same.
constexpr bool merged_in_any_order(sharding const& a, sharding const& b) {
  for (linearity const l : {linearity::none, linearity::additive, linearity::multiplicative}) {
    auto const x = merge_operands<2>({a, b}, l), y = merge_operands<2>({b, a}, l);
    auto const &f = x.wrong, &g = y.wrong;
    if ((f.what == finding::kind::none) != (g.what == finding::kind::none)) return false;
    if (f.what != finding::kind::none) {
      // Of several mistakes each order finds the first. One alone is found as it is, with i and j exchanged.
      return f.what != g.what || f.what == finding::kind::two_dims_on_axis || (f.i == 0 && f.j == 1 && g.i == 0 && g.j == 1);
    }
    if (x.together.partial != y.together.partial || x.complete[0] != y.complete[1] || x.complete[1] != y.complete[0])
      return false;
    if (x.together.rank != y.together.rank) return false;
    for (int d = 0; d < x.together.rank; ++d)
      if (int const e = y.together.find(x.together[d].id); e < 0 || !(x.together[d] == y.together[e])) return false;
  }
  return true;
}
