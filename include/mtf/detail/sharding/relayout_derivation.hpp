#pragma once
// What bringing a tensor from one sharding to another sends: the table of docs/design/states.md, "What relayouts send",
// as a list of steps.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/axis_roles.hpp>
#include <mtf/detail/sharding/steps.hpp>

namespace mtf::detail {

/// Derives the steps from a sharding to another of the same dimensions in the same order. `to.partial` is a subset of
/// `from.partial`: a relayout reduces, it makes nothing partial.
///
/// The steps are those that send the fewest bytes; of equal ones those that send fewer between nodes, then those of
/// fewer collectives, then those over fewer ranks. Only axes whose role changes take part. If slices and one collective
/// are enough, these are the steps. Otherwise they are a shortest path, each point of which gives every changed axis a
/// role (Dijkstra's algorithm with a lower bound). tests/support/relayout_laws.hpp has the laws.
class relayout_derivation : axis_roles {
 public:
  constexpr relayout_derivation(mesh_shape const& mesh, sharding const& from, sharding const& to)
      : mesh_(mesh), base_(from) {
    out_.from = from;
    collect(from, to);
  }

  constexpr steps derive() {
    place const sliced = slices();
    if (sliced != from_) emit(from_, sliced);
    if (sliced == to_) return out_;
    if (edge const e = between(sliced, to_); e.possible && is_plain(e))
      emit(sliced, to_);
    else
      search(sliced);
    return out_;
  }

 private:
  static constexpr int most_axes = 3, most_dims = 3, most_places = 729;  // in the search

  constexpr void collect(sharding const& from, sharding const& to) {
    axis_mask const completed = from.partial & ~to.partial;
    base_.partial = from.partial & to.partial;
    axis_mask changed = completed;
    for (int d = 0; d < from.ndim; ++d) {
      auto const &f = from[d].split, &t = to[d].split;
      auto& common = base_[d].split = {};
      while (common.size < f.size && common.size < t.size && f[common.size] == t[common.size])
        common.push(f[common.size]);
      changed |= (f.mask() | t.mask()) & ~common.mask();
    }
    if (changed == 0) return;
    for (int a = 0; a < mesh_.ndim; ++a)
      if ((changed >> static_cast<unsigned>(a)) & 1U) {
        auto const k = static_cast<std::size_t>(count_);
        axis_[k] = a;
        extent_[k] = mesh_.extent[static_cast<std::size_t>(a)];
        if ((completed >> static_cast<unsigned>(a)) & 1U) from_ = with(from_, count_, summed);
        ++count_;
      }
    for (int d = 0; d < from.ndim; ++d) {
      from_ = split_by(from_, d, from[d].split);
      to_ = split_by(to_, d, to[d].split);
    }
    base_size_ = base_.local_size(mesh_);
  }
  constexpr place split_by(place p, int d, axis_list const& split) const {
    int const common = base_[d].split.size;
    for (int i = common; i < split.size; ++i)
      p = with(p, index_of(split[i]), splits + static_cast<unsigned>(d), static_cast<unsigned>(i - common));
    return p;
  }
  constexpr int index_of(int axis) const {
    int k = 0;
    while (axis_[static_cast<std::size_t>(k)] != axis) ++k;
    return k;
  }
  constexpr int extent(int k) const { return extent_[static_cast<std::size_t>(k)]; }

  constexpr index size_of(place p) const {
    index parts = 1;
    for (int k = 0; k < count_; ++k)
      if (role(p, k) >= splits) parts *= extent(k);
    return base_size_ / parts;
  }
  constexpr sharding sharding_at(place p) const {
    sharding s = base_;
    for (unsigned i = 0; i < static_cast<unsigned>(count_); ++i)
      for (int k = 0; k < count_; ++k) {
        int const axis = axis_[static_cast<std::size_t>(k)];
        if (role(p, k) == summed) s.partial |= 1U << static_cast<unsigned>(axis);
        if (role(p, k) >= splits && position(p, k) == i) s[static_cast<int>(role(p, k) - splits)].split.push(axis);
      }
    return s;
  }

  /// After all slices that a rank can take from its shard now: they make everything that follows smaller.
  constexpr place slices() const {
    unsigned split_before = 0;  // dimensions
    for (int k = 0; k < count_; ++k)
      if (role(from_, k) >= splits) split_before |= 1U << role(from_, k);
    place p = from_;
    for (bool more = true; more;) {
      more = false;
      for (int k = 0; k < count_; ++k) {
        unsigned const d = role(to_, k);
        if (role(p, k) != idle || d < splits || ((split_before >> d) & 1U)) continue;
        unsigned there = 0;
        for (int l = 0; l < count_; ++l) there += role(p, l) == d ? 1U : 0U;
        if (there != position(to_, k)) continue;
        p = with(p, k, d, there);
        more = true;
      }
    }
    return p;
  }

  /// The one step from u to v.
  struct edge {
    bool possible = false;
    step_kind kind = step_kind::slice;
    axis_mask axes = 0;
    int parts = 1;
  };
  constexpr edge between(place u, place v) const {
    enum : unsigned { completes = 1, scatters = 2, slices = 4, gathers = 8, moves = 16, reorders = 32 };
    unsigned what = 0, loses = 0, gains = 0;
    axis_mask changed = 0, sliced = 0;
    int parts = 1;  // along the axes that are changed and not sliced
    for (int k = 0; k < count_; ++k) {
      unsigned const before = field(u, k), after = field(v, k), x = before & 0xfU, y = after & 0xfU;
      if (before == after) continue;
      if (y == summed) return {};
      axis_mask const axis = 1U << static_cast<unsigned>(axis_[static_cast<std::size_t>(k)]);
      changed |= axis;
      if (x == idle)
        sliced |= axis;
      else
        parts *= extent(k);
      what |= x == summed ? (y == idle ? completes : scatters)
              : x == idle ? slices
              : y == idle ? gathers
              : x != y    ? moves
                          : reorders;
      if (x >= splits) loses |= 1U << x;
      if (y >= splits) gains |= 1U << y;
    }
    if (what == slices) return {true, step_kind::slice, changed, mesh_.size(changed)};
    if (what == completes) return {true, step_kind::all_reduce, changed, parts};
    if (count_ > most_axes && !is_one_copy(changed & ~sliced, loses, gains)) return {};
    if (what == gathers) return {true, step_kind::all_gather, changed, parts};
    if ((what | slices) == (scatters | slices)) return {true, step_kind::reduce_scatter, changed & ~sliced, parts};
    if ((what & (completes | scatters)) != 0) return {};
    if ((what & moves) != 0 && (loses & gains) == 0) return {true, step_kind::all_to_all, changed & ~sliced, parts};
    if (loses != gains || !same_parts(u, v)) return {};
    axis_mask const group = changed | inside(u, v);
    return {true, step_kind::permute, group, mesh_.size(group)};
  }
  /// Can one loop nest copy the blocks of a message? It needs a loop for each axis, one for each dimension that these
  /// split, and one for all that is outside. Three axes always fit.
  static constexpr bool is_one_copy(axis_mask axes, unsigned loses, unsigned gains) {
    int const lost = std::popcount(loses), gained = std::popcount(gains);
    return std::popcount(axes) + (lost > gained ? lost : gained) + 1 <= max_dims;
  }
  /// The axes that keep their roles, but whose blocks change: their dimension is split differently outside them.
  constexpr axis_mask inside(place u, place v) const {
    axis_mask m = 0;
    for (int k = 0; k < count_; ++k)
      if (role(u, k) >= splits && outside(u, k) != outside(v, k))
        m |= 1U << static_cast<unsigned>(axis_[static_cast<std::size_t>(k)]);
    return m;
  }
  constexpr int outside(place p, int k) const {
    int parts = 1;
    for (int l = 0; l < count_; ++l)
      if (role(p, l) == role(p, k) && position(p, l) < position(p, k)) parts *= extent(l);
    return parts;
  }
  /// False if it could pay to treat the axes inside nodes apart, which the search decides; of all-reduces emit() does.
  constexpr bool is_plain(edge const& e) const {
    axis_mask const inner = e.axes & mesh_.node_axes;
    return inner == 0 || inner == e.axes || e.kind == step_kind::all_reduce;
  }
  /// Each dimension is split into as many parts in u as in v.
  constexpr bool same_parts(place u, place v) const {
    std::array<int, splits + max_dims> before{}, after{};
    for (int k = 0; k < count_; ++k) {
      auto &x = before[role(u, k)], &y = after[role(v, k)];
      x = (x == 0 ? 1 : x) * extent(k);
      y = (y == 0 ? 1 : y) * extent(k);
    }
    for (std::size_t d = splits; d < before.size(); ++d)
      if (before[d] != after[d]) return false;
    return true;
  }

  /// The price of steps. The unit of bytes is an element's size / the mesh's size, so that all divisions are exact.
  struct price {
    std::uint64_t bytes, between_nodes;
    int collectives, ranks;
    constexpr bool operator<(price const& o) const {
      if (bytes != o.bytes) return bytes < o.bytes;
      if (between_nodes != o.between_nodes) return between_nodes < o.between_nodes;
      if (collectives != o.collectives) return collectives < o.collectives;
      return ranks < o.ranks;
    }
  };
  /// The inner axes of a scattered_all_reduce of n elements over `axes`; 0 if it is a plain all-reduce.
  constexpr axis_mask inner_of(axis_mask axes, index n) const {
    axis_mask const inner = axes & mesh_.node_axes;
    return inner != 0 && inner != axes && n % mesh_.size(inner) == 0 ? inner : 0;
  }
  constexpr price plus(price p, edge const& e, index before, index after) const {
    if (e.kind == step_kind::slice) return p;
    auto const payload = static_cast<std::uint64_t>(payload_of(e.kind, e.parts, before, after)) *
                         static_cast<std::uint64_t>(mesh_.size());
    auto const sent = [&](collective_kind kind, std::uint64_t n, axis_mask axes, int parts) {
      auto const bytes = bytes_sent(kind, n, parts);
      p.bytes += bytes;
      if (mesh_.node_axes != 0 && (axes & ~mesh_.node_axes) != 0) p.between_nodes += bytes;
      ++p.collectives;
      p.ranks += parts;
    };
    if (axis_mask const inner = e.kind == step_kind::all_reduce ? inner_of(e.axes, before) : 0; inner != 0) {
      int const parts = mesh_.size(inner);
      auto const share = payload / static_cast<std::uint64_t>(parts);
      sent(collective_kind::reduce_scatter, payload, inner, parts);
      sent(collective_kind::all_reduce, share, e.axes & ~inner, e.parts / parts);
      sent(collective_kind::all_gather, share, inner, parts);
    } else {
      sent(collective_of(e.kind), payload, e.axes, e.parts);
    }
    return p;
  }

  constexpr void emit(place u, place v) {
    edge const e = between(u, v);
    step s;
    s.kind = e.kind;
    s.axes = e.axes;
    s.parts = e.parts;
    s.elements_in = size_of(u);
    s.elements_out = size_of(v);
    s.after = sharding_at(v);
    if (e.kind == step_kind::all_reduce)
      if (axis_mask const inner = inner_of(e.axes, s.elements_in); inner != 0) {
        s.kind = step_kind::scattered_all_reduce;
        s.axes &= ~inner;
        s.inner_axes = inner;
      }
    out_.push(s);
  }

  // ---- the search. With up to three changed axes and three dimensions (those that change, and others that the axes
  // divide) every role is a candidate; beyond that an axis is only as before, as after, or idle.

  struct node {
    place at;
    index elements;
    price so_far, rest, estimate;
    int before;
    bool reached, done;
  };

  constexpr int candidates(node* nodes, place start) const {
    std::array<int, max_dims> dims{};
    int n_dims = 0, whole = -1;
    unsigned touched = 0;
    for (int k = 0; k < count_; ++k) touched |= 1U << role(start, k) | 1U << role(to_, k);
    auto const changes = [&](int d) { return ((touched >> (splits + static_cast<unsigned>(d))) & 1U) != 0; };
    for (int d = 0; d < base_.ndim; ++d) {
      if (changes(d)) dims[static_cast<std::size_t>(n_dims++)] = d;
      if (!changes(d) && divided(d) == count_) whole = d;
    }
    // Others may be split on the way: one that all the axes divide, or else those that some axis divides.
    for (int d = 0; d < base_.ndim && n_dims < most_dims; ++d)
      if (whole < 0 ? !changes(d) && divided(d) > 0 : d == whole) dims[static_cast<std::size_t>(n_dims++)] = d;
    if (count_ > most_axes || n_dims > most_dims) return coarse_candidates(nodes, start);

    int size = 1;
    nodes[0].at = 0;
    for (int k = 0; k < count_; ++k)
      for (int i = size - 1; i >= 0; --i) {  // with one axis more: idle replaces the old entry, others go at the end
        place const p = nodes[i].at;
        if (role(start, k) == summed) nodes[size++].at = with(p, k, summed);
        for (int j = 0; j < n_dims; ++j) {
          unsigned const d = splits + static_cast<unsigned>(dims[static_cast<std::size_t>(j)]);
          index parts = extent(k);
          unsigned there = 0;
          for (int l = 0; l < k; ++l)
            if (role(p, l) == d) {
              ++there;
              parts *= extent(l);
            }
          if (base_.local_extent(static_cast<int>(d - splits), mesh_) % parts != 0) continue;
          for (unsigned at = 0; at <= there; ++at) {
            place q = with(p, k, d, at);
            for (int l = 0; l < k; ++l)
              if (role(p, l) == d && position(p, l) >= at) q = with(q, l, d, position(p, l) + 1);
            nodes[size++].at = q;
          }
        }
      }
    return size;
  }
  /// How many of the changed axes divide a dimension, one after the other.
  constexpr int divided(int d) const {
    int n = 0;
    index rest = base_.local_extent(d, mesh_);
    for (int k = 0; k < count_; ++k)
      if (rest % extent(k) == 0) {
        rest /= extent(k);
        ++n;
      }
    return n;
  }
  constexpr int coarse_candidates(node* nodes, place start) const {
    int size = 0, all = 1;
    for (int k = 0; k < count_; ++k) all *= 3;
    for (int i = 0; i < all; ++i) {
      place p = 0;
      bool twice = false;
      for (int k = 0, n = i; k < count_; ++k, n /= 3) {
        unsigned const f = n % 3 == 0 ? 0U : field(n % 3 == 1 ? start : to_, k);
        twice = twice || (n % 3 != 0 && f == 0) || (n % 3 == 2 && f == field(start, k));  // the same candidate again
        p |= place{f} << (8 * k);
      }
      if (!twice && well_split(p)) nodes[size++].at = p;
    }
    return size;
  }
  /// Positions on each dimension are 0, 1, ..., and the axes there divide it.
  constexpr bool well_split(place p) const {
    for (int k = 0; k < count_; ++k) {
      unsigned const d = role(p, k);
      if (d < splits) continue;
      unsigned there = 0, positions = 0;
      index parts = 1;
      for (int l = 0; l < count_; ++l)
        if (role(p, l) == d) {
          ++there;
          positions |= 1U << position(p, l);
          parts *= extent(l);
        }
      if (positions != (1U << there) - 1U || base_.local_extent(static_cast<int>(d - splits), mesh_) % parts != 0)
        return false;
    }
    return true;
  }

  /// A lower bound of the price from here on. With no sums to take, each rank receives what it wants and does not hold;
  /// if an axis must take the place of another (`apart`), some rank holds nothing that it wants. With sums over n ranks
  /// to take, let m be the least size of a shard. If the last sum leaves shards of w, all sums send at least
  /// (n - 1) m + (w - m), and what is wanted beyond w arrives later: n - 2 times m and what is wanted, in total. No
  /// collective both takes sums and undoes splits.
  constexpr price least_from(place at) const {
    bool split_wrong = false, apart = false;
    int summands = 1, all = 1;
    index parts = 1;  // into which the splits before and after divide together
    for (int k = 0; k < count_; ++k) {
      if (extent(k) == 1) return {};
      unsigned const now = field(at, k), later = field(to_, k);
      all *= extent(k);
      if (now == summed) summands *= extent(k);
      if (now > summed) parts *= extent(k);
      if (later > summed && later != now) parts *= extent(k);
      if (now > summed && now != later) {
        split_wrong = true;
        for (int l = 0; l < count_; ++l) apart = apart || field(to_, l) == now;
      }
    }
    auto const unit = static_cast<std::uint64_t>(mesh_.size());
    price p{static_cast<std::uint64_t>(size_of(to_)) * unit, 0, split_wrong ? 1 : 0, 0};
    if (summands > 1) {
      p.bytes += static_cast<std::uint64_t>(base_size_) * (unit / static_cast<std::uint64_t>(all)) *
                 static_cast<std::uint64_t>(summands - 2);
      ++p.collectives;
    } else if (!apart) {
      p.bytes -= static_cast<std::uint64_t>(base_size_ / parts) * unit;
    }
    return p;
  }
  constexpr void search(place start) {
    node nodes[most_places];
    int const size = candidates(nodes, start);
    int at = -1;
    for (int i = 0; i < size; ++i) {
      node& n = nodes[i];
      n.elements = size_of(n.at);
      n.rest = least_from(n.at);
      n.so_far = {};
      n.before = -1;
      n.reached = n.at == start;
      n.done = false;
      if (n.reached) at = i;
    }
    while (nodes[at].at != to_) {
      node& here = nodes[at];
      here.done = true;
      int next = -1;
      for (int i = 0; i < size; ++i) {
        node& n = nodes[i];
        if (n.done) continue;
        if (!n.reached || here.so_far < n.so_far)
          if (edge const e = between(here.at, n.at); e.possible)
            if (price const p = plus(here.so_far, e, here.elements, n.elements); !n.reached || p < n.so_far) {
              n.so_far = p;
              n.estimate = {p.bytes + n.rest.bytes, p.between_nodes, p.collectives + n.rest.collectives, p.ranks};
              n.before = at;
              n.reached = true;
            }
        if (n.reached && (next < 0 || n.estimate < nodes[next].estimate)) next = i;
      }
      at = next;
    }
    int path[most_places], length = 0;
    for (int i = at; i >= 0; i = nodes[i].before) path[length++] = i;
    for (int i = length - 1; i > 0; --i) emit(nodes[path[i]].at, nodes[path[i - 1]].at);
  }

  mesh_shape mesh_;
  sharding base_;  // without the roles that change
  int count_ = 0;
  std::array<int, max_axes> axis_{}, extent_{};
  place from_ = 0, to_ = 0;
  index base_size_ = 1;
  steps out_;
};

}  // namespace mtf::detail
