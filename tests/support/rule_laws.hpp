#pragma once
// The laws of verdicts, as functions: tests/static asserts them for few shardings, tests/local checks them for more.
// Names mean nothing: under other names of dimensions and other numbers of axes every rule finds the same, where the
// names went. The order of operands means nothing: what is wrong with them is wrong in every order.
#include <bit>

#include <mtf/detail/sharding/einsum_rule.hpp>

namespace laws {

using mtf::axis_mask;
using mtf::linearity;
using mtf::sharding;
using mtf::detail::check_sharding;
using mtf::detail::derive_einsum;
using mtf::detail::finding;

/// Axis a becomes to[a]; the dimensions get other names, which are not ordered as they were.
struct renaming {
  std::array<int, 3> to{0, 1, 2};

  constexpr axis_mask of(axis_mask axes) const {
    axis_mask m = 0;
    for (std::size_t a = 0; a < to.size(); ++a)
      if ((axes >> a) & 1U) m |= 1U << static_cast<unsigned>(to[a]);
    return m;
  }
  constexpr sharding of(sharding const& s) const {
    sharding r = s;
    r.partial = of(s.partial);
    for (int d = 0; d < s.ndim; ++d) {
      r[d].id = 7919 * (100 - s[d].id);
      r[d].split = {};
      for (int i = 0; i < s[d].split.size; ++i) r[d].split.push(to[static_cast<std::size_t>(s[d].split[i])]);
    }
    return r;
  }
};
constexpr std::array<renaming, 6> renamings{
    {{{0, 1, 2}}, {{1, 0, 2}}, {{0, 2, 1}}, {{2, 1, 0}}, {{1, 2, 0}}, {{2, 0, 1}}}};

using operands = std::array<sharding, 2>;
constexpr operands exchanged(operands const& in) { return {in[1], in[0]}; }

/// The axes that a finding is about: two dimensions on them, or one and a sum.
constexpr axis_mask common_axes(finding const& f, operands const& in) {
  auto const& x = in[static_cast<std::size_t>(f.i)];
  auto const& y = in[static_cast<std::size_t>(f.j)];
  if (f.what == finding::kind::two_dims_on_axis) return x[f.di].split.mask() & y[f.dj].split.mask();
  return f.what == finding::kind::split_where_partial ? x[f.di].split.mask() & x.partial : 0;
}

/// A finding and the one after renaming: the same kind, at the same places. Of several axes in common, numbers say
/// which is named; it is one of them, and of one it is that one.
constexpr bool same_finding(finding const& f, finding const& g, renaming const& by, operands const& in) {
  if (f.what != g.what || f.i != g.i || f.di != g.di || f.j != g.j || f.dj != g.dj) return false;
  axis_mask const both = common_axes(f, in);
  return both == 0 ? f.axis == g.axis : ((both >> f.axis) & 1U) && ((by.of(both) >> g.axis) & 1U);
}

constexpr bool named_alike(operands const& in, renaming const& by) {
  operands const other{by.of(in[0]), by.of(in[1])};
  if (!same_finding(check_sharding(in[0]), check_sharding(other[0]), by, in)) return false;
  for (linearity const l : {linearity::none, linearity::additive, linearity::multiplicative, linearity::first}) {
    auto const x = mtf::detail::merge_operands<2>(in, l), y = mtf::detail::merge_operands<2>(other, l);
    if (!same_finding(x.wrong, y.wrong, by, in)) return false;
    if (x.wrong.what != finding::kind::none) continue;
    if (!(by.of(x.together) == y.together) || by.of(x.complete[0]) != y.complete[0] ||
        by.of(x.complete[1]) != y.complete[1])
      return false;
  }
  sharding wanted = in[0];  // keeps the operands' first dimension
  wanted.ndim = 1;
  wanted.partial = 0;
  auto const x = derive_einsum(in[0], in[1], wanted), y = derive_einsum(other[0], other[1], by.of(wanted));
  return same_finding(x.wrong, y.wrong, by, in) && (x.wrong.what != finding::kind::none || by.of(x.out) == y.out);
}

/// What is wrong with operands, told by comparing each dimension of each with all others: in no order.
struct mistakes {
  int size = 0;
  std::array<finding, 16> at{};
};
constexpr mistakes all_mistakes(operands const& in) {
  mistakes m;
  for (int i = 0; i < 2; ++i)
    for (int j = i; j < 2; ++j) {
      sharding const &x = in[static_cast<std::size_t>(i)], &y = in[static_cast<std::size_t>(j)];
      for (int d = 0; d < x.ndim; ++d)
        for (int e = i == j ? d + 1 : 0; e < y.ndim; ++e) {
          auto const kind =
              x[d].id != y[e].id
                  ? (x[d].split.mask() & y[e].split.mask()) != 0 ? finding::kind::two_dims_on_axis : finding::kind::none
              : x[d].extent != y[e].extent  ? finding::kind::extents
              : !(x[d].split == y[e].split) ? finding::kind::splits
                                            : finding::kind::none;
          if (kind != finding::kind::none) m.at[static_cast<std::size_t>(m.size++)] = {kind, i, d, j, e, 0};
        }
    }
  return m;
}

/// A rule finds something where something is wrong, and finds one of the things that are.
constexpr bool finds_one_of(mistakes const& all, finding const& f, operands const& in) {
  if (f.what == finding::kind::none) return all.size == 0;
  auto const id = [&](int i, int d) { return in[static_cast<std::size_t>(i)][d].id; };
  if (f.what == finding::kind::two_dims_on_axis && !((common_axes(f, in) >> f.axis) & 1U)) return false;
  for (int n = 0; n < all.size; ++n) {
    auto const& m = all.at[static_cast<std::size_t>(n)];
    if (m.what != f.what) continue;
    auto const x = id(m.i, m.di), y = id(m.j, m.dj), v = id(f.i, f.di), w = id(f.j, f.dj);
    if ((x == v && y == w) || (x == w && y == v)) return true;
  }
  return false;
}

/// In both orders a mistake is found if there is one; else the same operands stay partial and the same are reduced.
constexpr bool ordered_alike(operands const& in) {
  auto const other = exchanged(in);
  auto const all = all_mistakes(in), all_other = all_mistakes(other);
  for (linearity const l : {linearity::none, linearity::additive, linearity::multiplicative}) {
    auto const x = mtf::detail::merge_operands<2>(in, l), y = mtf::detail::merge_operands<2>(other, l);
    if (all.size != all_other.size || !finds_one_of(all, x.wrong, in) || !finds_one_of(all_other, y.wrong, other))
      return false;
    if (x.wrong.what != finding::kind::none) {
      // Of one mistake between the two, the places are exchanged: the first operand is named first in either order.
      if (all.size == 1 && all.at[0].i != all.at[0].j &&
          (x.wrong.i != y.wrong.i || x.wrong.j != y.wrong.j || x.wrong.di != y.wrong.dj || x.wrong.dj != y.wrong.di))
        return false;
      continue;
    }
    if (x.together.partial != y.together.partial || x.complete[0] != y.complete[1] || x.complete[1] != y.complete[0] ||
        x.together.ndim != y.together.ndim)
      return false;
    for (int d = 0; d < x.together.ndim; ++d)
      if (int const e = y.together.find(x.together[d].id); e < 0 || !(x.together[d] == y.together[e])) return false;
  }
  return true;
}

/// All ways in which up to three axes may be written as one dimension's split: none, one, two or three of them in any
/// order.
constexpr int ways_to_split = 16;
constexpr mtf::axis_list split_number(int i) {
  constexpr std::array<std::array<int, 3>, ways_to_split> all{{{-1, -1, -1},
                                                               {0, -1, -1},
                                                               {1, -1, -1},
                                                               {0, 1, -1},
                                                               {1, 0, -1},
                                                               {2, -1, -1},
                                                               {0, 2, -1},
                                                               {2, 0, -1},
                                                               {1, 2, -1},
                                                               {2, 1, -1},
                                                               {0, 1, 2},
                                                               {0, 2, 1},
                                                               {1, 0, 2},
                                                               {1, 2, 0},
                                                               {2, 0, 1},
                                                               {2, 1, 0}}};
  mtf::axis_list split;
  for (int const axis : all[static_cast<std::size_t>(i)])
    if (axis >= 0) split.push(axis);
  return split;
}
constexpr int ways_to_split_by_two = 5;  // the first ones: by axes 0 and 1

/// Two operands which share the dimension 2, right or wrong.
constexpr operands two_operands(std::array<int, 4> const& splits, std::array<axis_mask, 2> const& partial,
                                mtf::backend::index extent = 24) {
  operands in;
  in[0].push({1, 24, split_number(splits[0])});
  in[0].push({2, 24, split_number(splits[1])});
  in[1].push({2, extent, split_number(splits[2])});
  in[1].push({3, 24, split_number(splits[3])});
  in[0].partial = partial[0];
  in[1].partial = partial[1];
  return in;
}

}  // namespace laws
