#pragma once
// The laws of relayouts, as functions: tests/static asserts them on small meshes, tests/local checks them on larger
// ones. Nothing here shares code with what it checks but the descriptions of shardings, steps and copies.
#include <utility>

#include <mtf/detail/sharding/message.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>

namespace laws {

using mtf::axis_mask;
using mtf::collective_kind;
using mtf::mesh_shape;
using mtf::sharding;
using mtf::backend::index;
using mtf::detail::step;
using mtf::detail::step_kind;
using mtf::detail::steps;

constexpr axis_mask bit(int axis) { return 1U << static_cast<unsigned>(axis); }

// ---- all ways to lie on a mesh

/// All shardings of some dimensions: each axis is idle, partial, or splits one of them, several on one in every order;
/// the axes on a dimension divide it.
template <int Most>
struct ways {
  int size = 0;
  sharding at[Most];
};
template <int Most>
constexpr ways<Most> all_ways(mesh_shape const& m, sharding const& whole) {
  ways<Most> w;
  w.at[w.size++] = whole;
  for (int axis = 0; axis < m.ndim; ++axis)
    for (int i = w.size - 1; i >= 0; --i) {
      sharding const s = w.at[i];
      w.at[w.size] = s;
      w.at[w.size++].partial |= bit(axis);
      for (int d = 0; d < s.ndim; ++d) {
        if (s.local_extent(d, m) % m.extent[static_cast<std::size_t>(axis)] != 0) continue;
        for (int place = 0; place <= s[d].split.size; ++place) {
          sharding& t = w.at[w.size++] = s;
          t[d].split = {};
          for (int n = 0; n <= s[d].split.size; ++n) {
            if (n == place) t[d].split.push(axis);
            if (n < s[d].split.size) t[d].split.push(s[d].split[n]);
          }
        }
      }
    }
  return w;
}

/// A relayout opens no sums.
constexpr bool is_relayout(sharding const& from, sharding const& to) { return (to.partial & ~from.partial) == 0; }

// ---- the values: steps carried out on all ranks, on elements that know their global position and whose terms they
// hold

/// An element: its global position, and a bit for each rank of the group over which the tensor was partial at first.
constexpr std::int64_t element(index global, std::uint32_t terms) {
  return global << 32 | static_cast<std::int64_t>(terms);
}
constexpr std::uint32_t terms_in(std::int64_t e) { return static_cast<std::uint32_t>(e & 0xffffffff); }
constexpr index global_in(std::int64_t e) { return e >> 32; }

/// Plain arrays: constant evaluation is slow.
template <int Elements>
struct shard {
  index size = 0;
  std::int64_t at[Elements]{};
};
template <int Elements, int Ranks>
struct shards {
  shard<Elements> of[Ranks];
};

template <int Elements>
constexpr shard<Elements> shard_of(mesh_shape const& m, sharding const& s, int rank, std::uint32_t terms) {
  shard<Elements> out;
  out.size = 1;
  out.at[0] = 0;
  for (int d = 0; d < s.ndim; ++d) {  // one dimension more, inside those before
    index const n = s.local_extent(d, m), first = mtf::detail::shard_offset(s, d, m, rank), stride = s.global_stride(d);
    for (index i = out.size * n - 1; i >= 0; --i) out.at[i] = out.at[i / n] + (first + i % n) * stride;
    out.size *= n;
  }
  for (index i = 0; i < out.size; ++i) out.at[i] = element(out.at[i], terms);
  return out;
}

template <int E, int R>
constexpr shards<E, R> shards_of(mesh_shape const& m, sharding const& s) {
  shards<E, R> out;
  for (int r = 0; r < m.size(); ++r) out.of[r] = shard_of<E>(m, s, r, std::uint32_t{1} << m.index_within(r, s.partial));
  return out;
}

/// What the ranks should hold in `to` of a tensor that was partial over `partial` at first.
template <int E, int R>
constexpr bool are_shards_of(mesh_shape const& m, shards<E, R> const& now, sharding const& to, axis_mask partial) {
  for (int r = 0; r < m.size(); ++r) {
    std::uint32_t terms = 0;  // of the ranks along the axes that were summed
    for (int q = 0; q < m.size(); ++q)
      if (m.index_within(q, to.partial) == m.index_within(r, to.partial))
        terms |= std::uint32_t{1} << m.index_within(q, partial);
    shard<E> const wanted = shard_of<E>(m, to, r, terms);
    if (now.of[r].size != wanted.size) return false;
    for (index i = 0; i < wanted.size; ++i)
      if (now.of[r].at[i] != wanted.at[i]) return false;
  }
  return true;
}

/// The ranks of a rank's group along some axes, in order.
template <int R>
struct group {
  int size = 0, at[R]{};
};
template <int R>
constexpr group<R> group_of(mesh_shape const& m, int rank, axis_mask axes) {
  group<R> g;
  int const mine = m.group_of(rank, axes);
  for (int q = 0; q < m.size(); ++q)
    if (m.group_of(q, axes) == mine) g.at[g.size++] = q;
  return g;
}

/// The sum of what the ranks of a group hold: they must hold the same elements, and no term twice.
template <int E, int R>
constexpr bool summed(mesh_shape const& m, shards<E, R> const& in, int rank, axis_mask axes, shard<E>& out) {
  out = in.of[rank];
  auto const g = group_of<R>(m, rank, axes);
  for (int k = 0; k < g.size; ++k) {
    if (g.at[k] == rank) continue;
    shard<E> const& other = in.of[g.at[k]];
    if (other.size != out.size) return false;
    for (index i = 0; i < out.size; ++i) {
      auto const x = other.at[i], y = out.at[i];
      if (global_in(x) != global_in(y) || (terms_in(x) & terms_in(y)) != 0) return false;
      out.at[i] = y + terms_in(x);
    }
  }
  return true;
}

template <int E>
constexpr shard<E> copied(mtf::backend::loops<2> const& l, shard<E> const& in, index offset = 0) {
  shard<E> out;
  out.size = l.size();
  for (index i = 0; i < out.size; ++i) {
    index to = 0, from = offset, rest = i;
    for (int d = l.ndim - 1; d >= 0; --d) {
      auto const at = static_cast<std::size_t>(d);
      index const n = rest % l.extent[at];
      rest /= l.extent[at];
      to += n * l.stride[0][at];
      from += n * l.stride[1][at];
    }
    out.at[to] = in.at[from];
  }
  return out;
}

template <int E, int R>
constexpr bool carry_out(mesh_shape const& m, step const& s, sharding const& before, shards<E, R> const& in,
                         shards<E, R>& out) {
  using namespace mtf::detail;
  sharding const block = block_of(before, s.after);
  bool const slices = s.kind == step_kind::slice;
  bool const packs = slices || s.kind == step_kind::reduce_scatter || s.kind == step_kind::all_to_all;
  bool const unpacks = s.kind == step_kind::all_gather || s.kind == step_kind::all_to_all;
  axis_mask const axes = slices ? 0 : s.axes;
  loops<2> const pack = packs ? block_copy(m, axes, before, block, true) : loops<2>{};
  loops<2> const unpack = unpacks ? block_copy(m, axes, s.after, block, false) : loops<2>{};
  shards<E, R> message;
  for (int r = 0; r < m.size(); ++r) {
    if (in.of[r].size != s.elements_in) return false;
    message.of[r] = packs && !is_identity(pack, s.elements_in)
                        ? copied(pack, in.of[r], pack_offset(m, axes, before, block, r))
                        : in.of[r];
    if (!slices && message.of[r].size != payload_of(s)) return false;
  }
  for (int r = 0; r < m.size(); ++r) {
    int const me = m.index_within(r, s.axes);
    shard<E>& mine = out.of[r];
    mine.size = 0;
    switch (s.kind) {
      case step_kind::slice:
        mine = message.of[r];
        break;
      case step_kind::all_reduce:
        if (!summed(m, in, r, s.axes, mine)) return false;
        break;
      case step_kind::scattered_all_reduce:
        if (s.elements_in % m.size(s.inner_axes) != 0 || !summed(m, in, r, s.axes | s.inner_axes, mine)) return false;
        break;
      case step_kind::reduce_scatter: {
        shard<E> sum;
        if (!summed(m, message, r, s.axes, sum)) return false;
        for (index i = 0; i < s.elements_out; ++i) mine.at[mine.size++] = sum.at[me * s.elements_out + i];
        break;
      }
      case step_kind::all_gather:
      case step_kind::all_to_all: {
        auto const g = group_of<R>(m, r, s.axes);
        bool const all = s.kind == step_kind::all_gather;
        index const count = all ? s.elements_in : s.elements_out / s.parts, from = all ? 0 : me * count;
        for (int k = 0; k < g.size; ++k)
          for (index i = 0; i < count; ++i) mine.at[mine.size++] = message.of[g.at[k]].at[from + i];
        if (!is_identity(unpack, s.elements_out)) mine = copied(unpack, shard<E>(mine));
        break;
      }
      case step_kind::permute: {
        int const source = counterpart(m, s.axes, s.after, before, r);
        if (counterpart(m, s.axes, before, s.after, source) != r) return false;  // who receives from whom sends to whom
        mine = in.of[source];
        break;
      }
    }
    if (mine.size != s.elements_out) return false;
  }
  return true;
}

template <int E, int R>
constexpr bool carry_out(mesh_shape const& m, steps const& all, shards<E, R>& now) {
  shards<E, R> next;
  for (int i = 0; i < all.size; ++i) {
    if (!carry_out(m, all[i], all.before(i), now, next)) return false;
    now = next;
  }
  return true;
}

/// Laws 1 and 2 for a pair: the steps lead from `from` to `to`, and each rank ends with just the elements that `to`
/// gives it, with just the sums taken that are wanted.
template <int E, int R>
constexpr bool brings(mesh_shape const& m, sharding const& from, sharding const& to) {
  auto const derived = mtf::detail::derive_relayout(m, from, to);
  // Nothing is sent if slices are enough: nothing is summed, and no split is taken away.
  bool slices = from.partial == to.partial;
  for (int d = 0; d < from.ndim; ++d) slices = slices && from[d].split.prefix_of(to[d].split);
  if (derived.communicates() == slices) return false;
  if (from == to && derived.size != 0) return false;
  if (!(derived.before(derived.size) == to)) return false;
  auto now = shards_of<E, R>(m, from);
  return carry_out(m, derived, now) && are_shards_of(m, now, to, from.partial);
}

/// All ranks hold the same elements, with the same sums taken.
template <int E, int R>
constexpr bool equal(mesh_shape const& m, shards<E, R> const& x, shards<E, R> const& y) {
  for (int r = 0; r < m.size(); ++r) {
    if (x.of[r].size != y.of[r].size) return false;
    for (index i = 0; i < x.of[r].size; ++i)
      if (x.of[r].at[i] != y.of[r].at[i]) return false;
  }
  return true;
}

/// Law 1 for three: from a to b to c is what from a to c is.
template <int E, int R>
constexpr bool composes(mesh_shape const& m, sharding const& a, sharding const& b, sharding const& c) {
  auto at_once = shards_of<E, R>(m, a), by_way = at_once;
  return carry_out(m, mtf::detail::derive_relayout(m, a, c), at_once) &&
         carry_out(m, mtf::detail::derive_relayout(m, a, b), by_way) &&
         carry_out(m, mtf::detail::derive_relayout(m, b, c), by_way) && equal(m, at_once, by_way);
}

// ---- the price: a search that knows only which part of each dimension each rank holds

constexpr int most_dims = 3;
struct box {
  index begin[most_dims]{}, end[most_dims]{};
  constexpr bool operator==(box const&) const = default;
};
/// The number of elements that two boxes share.
constexpr index common(box const& x, box const& y, int rank) {
  index n = 1;
  for (int d = 0; d < rank; ++d) {
    index const begin = x.begin[d] > y.begin[d] ? x.begin[d] : y.begin[d];
    index const end = x.end[d] < y.end[d] ? x.end[d] : y.end[d];
    if (end <= begin) return 0;
    n *= end - begin;
  }
  return n;
}

/// What each rank holds.
template <int R>
struct held {
  index size = 1;
  axis_mask partial = 0;
  std::uint64_t distinct = 0;  // bit i: no two ranks that differ only along the axes i hold the same
  box of[R];
};
template <int R>
constexpr held<R> held_in(mesh_shape const& m, sharding const& s) {
  held<R> h;
  h.partial = s.partial;
  for (int r = 0; r < m.size(); ++r) {
    h.size = 1;
    for (int d = 0; d < s.ndim; ++d) {
      index begin = 0, n = s[d].extent;
      for (int i = 0; i < s[d].split.size; ++i) {
        n /= m.extent[static_cast<std::size_t>(s[d].split[i])];
        begin += m.coordinate(r, s[d].split[i]) * n;
      }
      h.of[r].begin[d] = begin;
      h.of[r].end[d] = begin + n;
      h.size *= n;
    }
  }
  for (axis_mask axes = 0; axes < bit(m.ndim); ++axes) {
    bool distinct = true;
    for (int r = 0; r < m.size(); ++r)
      for (int q = 0; q < r; ++q)
        distinct = distinct && (m.group_of(q, axes) != m.group_of(r, axes) || common(h.of[q], h.of[r], s.ndim) == 0);
    h.distinct |= std::uint64_t{distinct} << axes;
  }
  return h;
}

/// Bytes first, then those over axes between nodes, then the number of collectives.
struct price {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t bytes = none, between_nodes = 0;
  int collectives = 0;
  constexpr bool operator<(price const& o) const {
    return bytes != o.bytes                   ? bytes < o.bytes
           : between_nodes != o.between_nodes ? between_nodes < o.between_nodes
                                              : collectives < o.collectives;
  }
};
constexpr price operator+(price const& a, price const& b) {
  return {a.bytes + b.bytes, a.between_nodes + b.between_nodes, a.collectives + b.collectives};
}

/// An element's size for which no bytes_sent() leaves a rest.
constexpr int exact_size(mesh_shape const& m) { return m.size(); }

/// The price of going from one state to another by slices, or by one collective over some axes; none if that is not
/// possible. A rank sends only what is wanted: slicing on the way is free.
template <int R>
constexpr price price_between(mesh_shape const& m, int rank, held<R> const& u, held<R> const& v) {
  axis_mask const taken = u.partial & ~v.partial;
  if ((v.partial & ~u.partial) != 0) return {};
  auto const priced = [&](collective_kind kind, index elements, axis_mask axes) {
    auto const payload = static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(exact_size(m));
    auto const bytes = mtf::bytes_sent(kind, payload, m.size(axes));
    return price{bytes, (axes & ~m.node_axes) != 0 ? bytes : 0, 1};
  };
  auto const same_group = [&](int q, int r, axis_mask axes) { return m.group_of(q, axes) == m.group_of(r, axes); };
  int const ranks = m.size();

  if (taken != 0) {  // sums are taken over all of a group's ranks, which hold the same part
    bool whole = v.size == u.size, scatters = true;
    for (int r = 0; r < ranks; ++r) {
      if (common(v.of[r], u.of[r], rank) != v.size) return {};
      for (int q = 0; q < r; ++q) {
        if (!same_group(q, r, taken)) continue;
        if (!(u.of[q] == u.of[r])) return {};
        scatters = scatters && common(v.of[q], v.of[r], rank) == 0;
      }
    }
    return whole      ? priced(collective_kind::all_reduce, u.size, taken)
           : scatters ? priced(collective_kind::reduce_scatter, v.size * m.size(taken), taken)
                      : price{};
  }

  bool inside = true;
  for (int r = 0; r < ranks; ++r) inside = inside && common(u.of[r], v.of[r], rank) == v.size;
  if (inside) return {0, 0, 0};  // slices

  price best;
  auto const offer = [&](bool possible, price const& p) {
    if (possible && p < best) best = p;
  };
  for (axis_mask axes = 1; axes < bit(m.ndim); ++axes) {
    if ((axes & u.partial) != 0) continue;  // ranks along these hold terms of different sums
    int const parts = m.size(axes);
    bool const distinct = ((u.distinct >> axes) & 1U) != 0;
    bool gathers = distinct && v.size == u.size * parts, exchanges = distinct && v.size % parts == 0;
    bool permutes = v.size == u.size;
    for (int r = 0; r < ranks && (gathers || exchanges || permutes); ++r) {
      int have = 0, want = 0;  // ranks of the group that have, that want what this rank wants
      for (int q = 0; q < ranks; ++q) {
        if (!same_group(q, r, axes)) continue;
        index const n = common(u.of[q], v.of[r], rank);
        gathers = gathers && n == u.size;
        exchanges = exchanges && n * parts == v.size;
        have += n == u.size ? 1 : 0;
        want += v.of[q] == v.of[r] ? 1 : 0;
      }
      permutes = permutes && have == want;
    }
    offer(gathers, priced(collective_kind::all_gather, u.size, axes));
    offer(exchanges, priced(collective_kind::all_to_all, v.size, axes));
    offer(permutes, priced(collective_kind::permute, u.size, axes));
  }
  return best;
}

/// The prices of all single moves between shardings.
template <int Most, int R>
struct moves {
  price of[Most][Most];
};
template <int R, int Most>
constexpr moves<Most, R> all_moves(mesh_shape const& m, ways<Most> const& w) {
  moves<Most, R> out;
  held<R> h[Most];
  for (int i = 0; i < w.size; ++i) h[i] = held_in<R>(m, w.at[i]);
  for (int i = 0; i < w.size; ++i)
    for (int j = 0; j < w.size; ++j) out.of[i][j] = price_between(m, w.at[0].ndim, h[i], h[j]);
  return out;
}

/// A state on the way: an axis with the same role in both has it there.
constexpr bool on_the_way(sharding const& from, sharding const& to, sharding const& s, int axes) {
  for (int d = 0; d < from.ndim; ++d)
    for (int i = 0; i < from[d].split.size && i < to[d].split.size && from[d].split[i] == to[d].split[i]; ++i)
      if (i >= s[d].split.size || s[d].split[i] != from[d].split[i]) return false;
  for (int a = 0; a < axes; ++a) {
    auto const idle = [&](sharding const& x) { return ((x.partial | x.split_axes()) & bit(a)) == 0; };
    if (idle(from) && idle(to) && !idle(s)) return false;
    if ((from.partial & to.partial & ~s.partial & bit(a)) != 0) return false;
  }
  return true;
}

/// The least price of up to `most` collectives, with slices between them wherever they help.
template <int Most, int R>
constexpr price least(mesh_shape const& m, ways<Most> const& w, moves<Most, R> const& by, int from, int to, int most,
                      bool all_axes = false) {
  bool open[Most]{};
  for (int i = 0; i < w.size; ++i) open[i] = all_axes || on_the_way(w.at[from], w.at[to], w.at[i], m.ndim);
  price now[Most], next[Most];
  now[from] = {0, 0, 0};
  for (int n = 0; n <= most; ++n) {
    for (bool const slices : {true, false}) {
      if (!slices && n == most) break;
      for (int v = 0; v < w.size; ++v) next[v] = now[v];
      for (int u = 0; u < w.size; ++u) {
        if (!(now[u] < now[to])) continue;
        for (int v = 0; v < w.size; ++v) {
          price const p = by.of[u][v];
          if (!open[v] || p.bytes == price::none || (p.collectives == 0) != slices) continue;
          if (price const q = now[u] + p; q < next[v]) next[v] = q;
        }
      }
      for (int v = 0; v < w.size; ++v) now[v] = next[v];
    }
  }
  return now[to];
}

/// What derived steps cost.
constexpr price price_of(mesh_shape const& m, steps const& all) {
  price p{0, 0, 0};
  for (int i = 0; i < all.size; ++i) {
    step const& s = all[i];
    auto const bytes = bytes_of(s, m, exact_size(m));
    if (s.kind == step_kind::scattered_all_reduce) {
      auto const share = static_cast<std::uint64_t>(s.elements_in / m.size(s.inner_axes) * exact_size(m));
      p = p + price{bytes, mtf::bytes_sent(collective_kind::all_reduce, share, m.size(s.axes)), 3};
    } else if (s.kind != step_kind::slice) {
      p = p + price{bytes, (s.axes & ~m.node_axes) != 0 ? bytes : 0, 1};
    }
  }
  return p;
}

/// Law 4: no sequence of up to three collectives sends less, or as much with fewer collectives.
template <int Most, int R>
constexpr bool is_least(mesh_shape const& m, ways<Most> const& w, moves<Most, R> const& by, int from, int to) {
  price const derived = price_of(m, mtf::detail::derive_relayout(m, w.at[from], w.at[to]));
  return !(least(m, w, by, from, to, 3) < derived);
}

/// Law 3: no axis over which is gathered splits again later. (Where an axis does not divide all dimensions it may have
/// to.)
constexpr bool gathers_for_good(steps const& all) {
  for (int i = 0; i < all.size; ++i) {
    if (all[i].kind != step_kind::all_gather) continue;
    for (int j = i + 1; j < all.size; ++j)
      if ((all[j].after.split_axes() & all[i].axes) != 0) return false;
  }
  return true;
}

}  // namespace laws
