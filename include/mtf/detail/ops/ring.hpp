#pragma once
// Keys and values that go round a ring of ranks, past queries that stay: who meets which, and how they are sent. Where
// keys are hidden so that some ranks would have more to do than others, a rank and the one that is as far from the
// ring's end as it is from its beginning have each the first half of their own queries, and the second of the other's:
// two of twice as many pieces, as in a zigzag (Dubey et al. 2024, 3.3.2), of which one is where it lies.
#include <array>
#include <cstddef>
#include <utility>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/carry.hpp>
#include <mtf/detail/sharding/ranks_apart.hpp>
#include <mtf/detail/sharding/shard.hpp>

namespace mtf::detail {

/// Where a rank is in its ring, and which keys it meets in which step: in step t those of the rank t places before it.
class ring_of {
 public:
  /// query, key: dimensions of q and k; axes: those round which k goes. All of these must live as long. halves: whether
  /// queries may be exchanged; they are where the rank with the most to do then has at most 3/4 of it.
  constexpr ring_of(sharding const& q, int query, sharding const& k, int key, axis_list const& axes,
                    visible const& seen, mesh_shape const& mesh, int rank, bool halves)
      : q_(&q),
        k_(&k),
        query_(query),
        key_(key),
        ring_(&axes),
        seen_(seen),
        mesh_(&mesh),
        rank_(rank),
        steps_(mesh.size(axes.mask()) - 1) {
    if (halves && !all_meet()) {
      double const whole = most_pairs();
      pieces_ = 2;
      if (whole == 0 || 4 * most_pairs() > 3 * whole) pieces_ = 1;
    }
    while (steps_ > 0 && !somebody_meets(steps_)) --steps_;
  }
  /// How often keys and values are sent on: as often as some rank sees what comes then.
  [[nodiscard]] constexpr int steps() const { return steps_; }
  /// The rank so many places further on; before, below 0.
  [[nodiscard]] constexpr int neighbour(int places) const {
    parts_in_order const parts(*mesh_, *ring_, rank_);
    int const n = parts.count();
    return parts.rank_with((parts.mine() + places % n + n) % n);
  }
  /// The keys of a step: where they begin, how many they are, and what is seen of them.
  [[nodiscard]] constexpr index first_key(int step) const { return shard_offset(*k_, key_, *mesh_, neighbour(-step)); }
  [[nodiscard]] constexpr index keys(int step) const { return logical_extent(*k_, key_, *mesh_, neighbour(-step)); }
  /// In how many pieces it has its queries: 1, or 2 halves, of which the second is the partner's.
  [[nodiscard]] constexpr int pieces() const { return pieces_; }
  [[nodiscard]] constexpr index queries() const { return q_->local_extent(query_, *mesh_) / pieces_; }
  [[nodiscard]] constexpr int owner(int piece) const {
    parts_in_order const parts(*mesh_, *ring_, rank_);
    return piece == 0 ? rank_ : parts.rank_with(parts.count() - 1 - parts.mine());
  }
  /// Whose second half it has; nobody's, if it is its own, as in the middle of an odd number of ranks.
  [[nodiscard]] constexpr int partner() const { return owner(1) == rank_ ? collective::nobody : owner(1); }
  /// Of the owner's queries the first one of a piece.
  [[nodiscard]] constexpr index first_query(int piece) const { return piece * queries(); }
  [[nodiscard]] constexpr visible seen(int step, int piece) const {
    return seen_.on_shard(first_position(piece), first_key(step));
  }
  [[nodiscard]] constexpr bool meets(int step, int piece) const {
    if (all_meet()) return true;
    auto const n = keys(step);
    return n > 0 && seen(step, piece).sees_some(0, queries(), 0, n);
  }
  [[nodiscard]] constexpr bool meets(int step) const { return meets(step, 0) || (pieces_ > 1 && meets(step, 1)); }
  /// Whether the rank, or one after it, meets the keys that it has in a step.
  [[nodiscard]] constexpr bool wanted(int step) const {
    for (int t = step; t <= steps_; ++t)
      if (of(neighbour(t - step)).meets(t)) return true;
    return false;
  }
  /// Whether it, or one before it, but for the one that they come from, met them.
  [[nodiscard]] constexpr bool touched(int step) const {
    for (int t = 1; t <= step; ++t)
      if (of(neighbour(t - step)).meets(t)) return true;
    return false;
  }
  /// The same ring as another rank has it.
  [[nodiscard]] constexpr ring_of of(int rank) const {
    ring_of other = *this;
    other.rank_ = rank;
    return other;
  }
  /// As the rank has it that has the most to do: for plans, where one stands for all.
  [[nodiscard]] constexpr ring_of busiest() const {
    if (all_meet()) return *this;
    int most = rank_;
    double pairs = -1;
    for (int r = 0; r < mesh_->size(); ++r)
      if (is_beside(r))
        if (double const n = of(r).pairs(); n > pairs) pairs = n, most = r;
    return of(most);
  }

 private:
  [[nodiscard]] constexpr index first_position(int piece) const {
    return shard_offset(*q_, query_, *mesh_, owner(piece)) + first_query(piece);
  }
  [[nodiscard]] constexpr bool all_meet() const { return seen_.is_everything() && !k_->padded; }
  /// Whether a rank differs along these axes alone that split what is multiplied.
  [[nodiscard]] constexpr bool is_beside(int rank) const {
    return (between(*mesh_, rank, rank_) & ~(q_->split_axes() | k_->split_axes())) == 0;
  }
  [[nodiscard]] constexpr bool somebody_meets(int step) const {
    if (all_meet()) return true;
    for (int r = 0; r < mesh_->size(); ++r)
      if (is_beside(r) && of(r).meets(step)) return true;
    return false;
  }
  [[nodiscard]] constexpr double pairs() const {
    double n = 0;
    for (int t = 0; t <= steps_; ++t)
      for (int piece = 0; piece < pieces_; ++piece)
        if (meets(t, piece)) n += seen(t, piece).pairs(queries(), keys(t));
    return n;
  }
  /// Those of the rank in this ring that has the most, where the ring has all keys.
  [[nodiscard]] constexpr double most_pairs() const {
    double most = 0;
    for (int places = 0; places < mesh_->size(ring_->mask()); ++places) {
      ring_of const other = of(neighbour(places));
      double n = 0;
      for (int piece = 0; piece < pieces_; ++piece)
        n += seen_.on_shard(other.first_position(piece), 0).pairs(queries(), (*k_)[key_].logical());
      if (n > most) most = n;
    }
    return most;
  }

  sharding const *q_, *k_;
  int query_, key_;
  axis_list const* ring_;
  visible seen_;
  mesh_shape const* mesh_;
  int rank_, steps_, pieces_ = 1;
};

/// Keys and values, or their gradients.
template <class T, class Backend>
struct ring_pair {
  buffer<Backend> k{}, v{};

  [[nodiscard]] constexpr T* keys() const { return data_of<T>(k); }
  [[nodiscard]] constexpr T* values() const { return data_of<T>(v); }
};

/// Keys and values, or their gradients, on their way: two permutes that were started.
template <class T, class Backend>
class ring_way {
 public:
  using pair = ring_pair<T, Backend>;
  constexpr ring_way(Backend& b, axis_mask axes, std::array<index, 2> const& sizes)
      : backend_(&b), axes_(axes), sizes_(sizes) {}

  [[nodiscard]] constexpr pair fresh() const {
    return {make_buffer<T>(*backend_, sizes_[0]), make_buffer<T>(*backend_, sizes_[1])};
  }
  constexpr void add(T* to_k, T* to_v, pair const& p) const {
    backend_->run(primitives::add<T>{sizes_[0], to_k, p.keys()});
    backend_->run(primitives::add<T>{sizes_[1], to_v, p.values()});
  }
  constexpr void send(pair const& what, int to, int from) {
    sent_ = what;
    coming_ = fresh();
    of_k_ = start(sizes_[0], to, from, sent_.keys(), coming_.keys());
    of_v_ = start(sizes_[1], to, from, sent_.values(), coming_.values());
  }
  constexpr pair arrived() {
    backend_->wait(of_k_);
    backend_->wait(of_v_);
    sent_ = {};
    return std::exchange(coming_, {});
  }

 private:
  constexpr typename Backend::request start(index n, int to, int from, T const* out, T* in) const {
    return backend_->start(collective::permute(axes_, element_of<T>, static_cast<std::size_t>(n), to, from), out, in);
  }

  Backend* backend_;
  axis_mask axes_;
  std::array<index, 2> sizes_;
  pair sent_, coming_;
  typename Backend::request of_k_{}, of_v_{};
};

/// In place of the second halves of a rank's rows those of its partner, or again its own. half: loops over such rows,
/// operands (one after the other, where they lie); second: where the first of them lies.
template <class T, class Backend>
constexpr void exchange_halves(Backend& b, ring_of const& here, axis_mask axes, loops<2> const& half, T* second) {
  index const n = half.size();
  auto const out = make_buffer<T>(b, n), in = make_buffer<T>(b, n);
  b.run(primitives::copy<T, T>{half, data_of<T>(out), second});
  int const partner = here.partner();
  b.communicate(collective::permute(axes, element_of<T>, static_cast<std::size_t>(n), partner, partner),
                data_of<T>(out), data_of<T>(in));
  loops<2> const back{half.ndim, half.extent, {half.stride[1], half.stride[0]}};
  if (partner != collective::nobody || !Backend::holds_data)
    b.run(primitives::copy<T, T>{back, second, data_of<T>(in)});
}

}  // namespace mtf::detail
