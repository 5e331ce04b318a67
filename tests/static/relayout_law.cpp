// The law of relayouts: from every way in which two dimensions can lie on two axes, cut or partial, to every other one,
// the derived steps bring each rank just the elements that the wanted sharding gives it, with just the sums taken that
// are wanted. The steps are carried out here on all ranks, on elements that know their global position and the ranks
// whose terms they hold.
#include <utility>

#include <mtf/detail/relayout_rule.hpp>

#include "shardings.hpp"

using mtf::axis_mask;
using mtf::mesh_shape;
using mtf::detail::index;
using mtf::detail::sharding;
using mtf::detail::step;
using mtf::detail::step_kind;

/// An element: its global position, and a bit for each rank of the group over which the tensor was partial at first.
/// Packed in one number and kept in plain arrays: constant evaluation is slow.
constexpr int element(index global, unsigned terms) { return static_cast<int>(global) * 256 + static_cast<int>(terms); }
constexpr int terms_in(int e) { return e % 256; }
constexpr int global_in(int e) { return e / 256; }

constexpr int most_elements = 36, most_ranks = 6;
struct shard {
  index size = 0;
  int at[most_elements]{};
};
struct shards {
  shard of[most_ranks];
};

constexpr shard shard_of(mesh_shape const& m, sharding const& s, int rank, unsigned terms) {
  shard out;
  out.size = 1;
  for (int d = 0; d < s.rank; ++d) {  // one dimension more, inside those before
    index const n = s.local_extent(d, m), first = mtf::detail::shard_offset(s, d, m, rank), stride = s.global_stride(d);
    for (index i = out.size * n - 1; i >= 0; --i)
      out.at[i] = out.at[i / n] + static_cast<int>((first + i % n) * stride);
    out.size *= n;
  }
  for (index i = 0; i < out.size; ++i) out.at[i] = element(out.at[i], terms);
  return out;
}

/// The ranks of a rank's group along some axes, in order.
struct group {
  int size = 0, at[most_ranks]{};
};
constexpr group group_of(mesh_shape const& m, int rank, axis_mask axes) {
  group g;
  int const mine = m.group_of(rank, axes);
  for (int q = 0; q < m.size(); ++q)
    if (m.group_of(q, axes) == mine) g.at[g.size++] = q;
  return g;
}

/// The sum of what the ranks of a group hold: they must hold the same elements, and no term twice.
constexpr bool summed(mesh_shape const& m, shards const& in, int rank, axis_mask axes, shard& out) {
  out = in.of[rank];
  group const g = group_of(m, rank, axes);
  for (int k = 0; k < g.size; ++k) {
    if (g.at[k] == rank) continue;
    shard const& other = in.of[g.at[k]];
    if (other.size != out.size) return false;
    for (index i = 0; i < out.size; ++i) {
      int const x = other.at[i], y = out.at[i];
      if (global_in(x) != global_in(y) || (terms_in(x) & terms_in(y)) != 0) return false;
      out.at[i] = y + terms_in(x);
    }
  }
  return true;
}

constexpr shard part_of(step const& s, shard const& in, int part) {
  shard out;
  for (index o = 0; o < s.outer; ++o)
    for (index i = 0; i < s.block; ++i) out.at[out.size++] = in.at[(o * s.parts + part) * s.block + i];
  return out;
}

constexpr bool carry_out(mesh_shape const& m, step const& s, int rank, shards const& in, shard& out) {
  int const me = m.index_within(rank, s.axes);
  shard const& mine = in.of[rank];
  if (mine.size != s.elements_in) return false;
  out.size = 0;
  switch (s.kind) {
    case step_kind::slice:
      out = part_of(s, mine, me);
      break;
    case step_kind::all_reduce:
      if (!summed(m, in, rank, s.axes, out)) return false;
      break;
    case step_kind::scattered_all_reduce:
      if (mine.size % m.size(s.inner_axes) != 0 || !summed(m, in, rank, s.axes | s.inner_axes, out)) return false;
      break;
    case step_kind::reduce_scatter: {
      shard sum;
      if (!summed(m, in, rank, s.axes, sum)) return false;
      out = part_of(s, sum, me);
      break;
    }
    case step_kind::all_gather: {
      group const g = group_of(m, rank, s.axes);
      for (index o = 0; o < s.outer; ++o)
        for (int k = 0; k < g.size; ++k)
          for (index i = 0; i < s.block; ++i) out.at[out.size++] = in.of[g.at[k]].at[o * s.block + i];
      break;
    }
    case step_kind::all_to_all: {
      // [outer, A, middle, B, inner]: one of A and B becomes whole, the other cut.
      group const g = group_of(m, rank, s.axes);
      index const a = s.from_first ? s.a * s.parts : s.a / s.parts, b = s.from_first ? s.b / s.parts : s.b * s.parts;
      for (index o = 0; o < s.outer; ++o)
        for (index i = 0; i < a; ++i)
          for (index k = 0; k < s.middle; ++k)
            for (index j = 0; j < b; ++j) {
              index const from = s.from_first ? i / s.a : j / s.b;  // who had it
              index const old_i = s.from_first ? i % s.a : me * a + i, old_j = s.from_first ? me * b + j : j % s.b;
              for (index n = 0; n < s.inner; ++n)
                out.at[out.size++] =
                    in.of[g.at[from]].at[(((o * s.a + old_i) * s.middle + k) * s.b + old_j) * s.inner + n];
            }
      break;
    }
    case step_kind::permute: {
      // From the rank with the coordinates along the two axes exchanged.
      int partner = 0;
      for (int x = 0; x < m.rank; ++x)
        partner = partner * m.extent[static_cast<std::size_t>(x)] + m.coordinate(rank, x == s.axis ? s.other_axis
                                                                                       : x == s.other_axis ? s.axis
                                                                                                           : x);
      out = in.of[partner];
      break;
    }
  }
  return out.size == s.elements_out;
}

constexpr bool holds(mesh_shape const& m, sharding const& from, sharding const& to) {
  auto const steps = mtf::detail::derive_relayout(m, from, to);
  if (steps.size > 6) return false;

  // Nothing is sent if slices are enough: nothing is summed, and no cut is taken away.
  bool slices = from.partial == to.partial;
  for (int d = 0; d < from.rank; ++d) slices = slices && from[d].cut.prefix_of(to[d].cut);
  if (steps.communicates() == slices) return false;
  if (from == to && steps.size != 0) return false;

  shards now, next;
  for (int r = 0; r < m.size(); ++r)
    now.of[r] = shard_of(m, from, r, 1U << static_cast<unsigned>(m.index_within(r, from.partial)));
  for (int i = 0; i < steps.size; ++i) {
    for (int r = 0; r < m.size(); ++r)
      if (!carry_out(m, steps[i], r, now, next.of[r])) return false;
    now = next;
  }
  for (int r = 0; r < m.size(); ++r) {
    unsigned terms = 0;  // of the ranks along the axes that were summed
    for (int q = 0; q < m.size(); ++q)
      if (m.index_within(q, to.partial) == m.index_within(r, to.partial))
        terms |= 1U << static_cast<unsigned>(m.index_within(q, from.partial));
    shard const wanted = shard_of(m, to, r, terms);
    if (now.of[r].size != wanted.size) return false;
    for (index i = 0; i < wanted.size; ++i)
      if (now.of[r].at[i] != wanted.at[i]) return false;
  }
  return true;
}

// All ways to lie on two axes: each axis is idle, partial, or cuts one of the two dimensions; two axes on one dimension
// in either order.
constexpr std::size_t ways = 18;
constexpr sharding way(std::size_t i, sharding s, int first, int second) {
  if (i >= 16) {
    int const d = i == 16 ? first : second;
    s[d].cut.push(1);
    s[d].cut.push(0);
    return s;
  }
  for (int axis = 0; axis < 2; ++axis) {
    std::size_t const role = axis == 0 ? i % 4 : i / 4;
    if (role == 1) s.partial |= 1U << static_cast<unsigned>(axis);
    if (role == 2) s[first].cut.push(axis);
    if (role == 3) s[second].cut.push(axis);
  }
  return s;
}

struct square {
  static constexpr auto mesh = by_hand::mesh({2, 2}, 0b10);                 // the second axis inside a node
  static constexpr sharding shape = by_hand::of({{1, 4}, {2, 2}, {3, 4}});  // the dimension between stays whole
  static constexpr int first = 0, second = 2;
};
struct uneven {
  static constexpr auto mesh = by_hand::mesh({2, 3});
  static constexpr sharding shape = by_hand::of({{1, 6}, {2, 6}});
  static constexpr int first = 0, second = 1;
};

template <class Case, std::size_t From, std::size_t To>
constexpr bool pair_holds() {
  constexpr sharding from = way(From, Case::shape, Case::first, Case::second);
  constexpr sharding to = way(To, Case::shape, Case::first, Case::second);
  if constexpr ((to.partial & ~from.partial) != 0)
    return true;  // a relayout opens no sums
  else
    return std::bool_constant<holds(Case::mesh, from, to)>::value;
}
template <class Case, std::size_t From, std::size_t... To>
constexpr bool from_one(std::index_sequence<To...>) {
  return (pair_holds<Case, From, To>() && ...);
}
template <class Case, std::size_t... From>
constexpr bool from_all(std::index_sequence<From...>) {
  return (from_one<Case, From>(std::make_index_sequence<ways>{}) && ...);
}
static_assert(from_all<square>(std::make_index_sequence<ways>{}));
static_assert(from_all<uneven>(std::make_index_sequence<ways>{}));
