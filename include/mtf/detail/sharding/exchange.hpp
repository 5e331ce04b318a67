#pragma once
// Positions of a dimension that come from those of others: who has what a rank wants, and in which collectives it
// crosses. One derivation for all movements along a split dimension: concat, roll, reverse, pad and their gradients.
#include <algorithm>
#include <cstddef>
#include <span>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/growing_array.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/ranks_apart.hpp>

namespace mtf::detail {

/// Positions that come from others, evenly apart: of `count` the t-th is `to + t to_step`, and comes from `from + t
/// from_step`. to_step is above 0.
struct stretch {
  index count = 0, to = 0, from = 0, to_step = 1, from_step = 1;

  /// The other way round, as gradients go.
  [[nodiscard]] constexpr stretch back() const {
    if (from_step > 0) return {count, from, to, from_step, to_step};
    index const last = count - 1;
    return {count, from + last * from_step, to + last * to_step, -from_step, -to_step};
  }
};

/// Some of a stretch, one after the other.
struct some_of_stretch {
  index first = 0, count = 0;
};
/// Those of `start + t step`, t < count, that are among `extent` positions from `begin` on.
constexpr some_of_stretch within(index count, index start, index step, index begin, index extent) {
  auto const up = [](index n, index by) { return n <= 0 ? n / by : (n + by - 1) / by; };
  index const apart = step > 0 ? step : -step, from = step > 0 ? begin - start : start - begin - extent + 1;
  index const first = std::max<index>(up(from, apart), 0), last = std::min(up(from + extent, apart), count);
  return first < last ? some_of_stretch{first, last - first} : some_of_stretch{};
}

/// How a dimension is split: each rank has one part. Pads are in the last parts, and nobody's positions.
struct dim_split {
  index extent = 1;  // of what is stored
  axis_list split;

  [[nodiscard]] constexpr index part(mesh_shape const& mesh) const { return extent / mesh.size(split.mask()); }
  /// Where a rank's part begins.
  [[nodiscard]] constexpr index begin(mesh_shape const& mesh, int rank) const {
    index at = 0;
    for (int i = 0; i < split.size; ++i) at = at * mesh.extent[split[i]] + mesh.coordinate(rank, split[i]);
    return at * part(mesh);
  }
};
constexpr dim_split dim_split_of(dim_state const& d) { return {d.extent, d.split}; }

/// From one rank to its neighbour along an axis.
constexpr int stride_of(mesh_shape const& mesh, int axis) {
  int stride = 1;
  for (int a = axis + 1; a < mesh.ndim; ++a) stride *= mesh.extent[a];
  return stride;
}

/// A stretch of a dimension, from one tensor to another. A rank takes what it wants from those that differ from it only
/// along `along`, which are some of the axes that split `from`: one of them has it, or, where these are not all, none.
struct movement {
  stretch of;
  dim_split from, to;
  axis_mask along = 0;
  int source = 0, target = 0;  // which tensors

  /// What `receiver` takes from `sender`.
  [[nodiscard]] constexpr some_of_stretch part(mesh_shape const& mesh, int receiver, int sender) const {
    if (of.count == 0 || (between(mesh, receiver, sender) & ~along) != 0) return {};
    auto const wanted = within(of.count, of.to, of.to_step, to.begin(mesh, receiver), to.part(mesh));
    auto const there = within(of.count, of.from, of.from_step, from.begin(mesh, sender), from.part(mesh));
    index const first = std::max(wanted.first, there.first);
    index const last = std::min(wanted.first + wanted.count, there.first + there.count);
    return first < last ? some_of_stretch{first, last - first} : some_of_stretch{};
  }
  /// f(sender) for each rank that may have something that `receiver` wants.
  template <class F>
  constexpr void each_sender(mesh_shape const& mesh, int receiver, F const& f) const {
    auto const wanted = within(of.count, of.to, of.to_step, to.begin(mesh, receiver), to.part(mesh));
    if (wanted.count == 0) return;
    index const one = of.from + wanted.first * of.from_step, other = one + (wanted.count - 1) * of.from_step;
    index const size = from.part(mesh), last = std::max(one, other) / size;
    for (index part = std::min(one, other) / size; part <= last; ++part)
      if (int const sender = holder(mesh, receiver, part); sender >= 0) f(sender);
  }

 private:
  /// The rank that differs from this one only along `along`, and has that part; below 0: there is none.
  [[nodiscard]] constexpr int holder(mesh_shape const& mesh, int rank, index part) const {
    for (int i = from.split.size - 1; i >= 0; --i) {
      int const axis = from.split[i], here = mesh.coordinate(rank, axis);
      auto const there = static_cast<int>(part % mesh.extent[axis]);
      part /= mesh.extent[axis];
      if (here == there) continue;
      if (((along >> static_cast<unsigned>(axis)) & 1U) == 0) return -1;
      rank += (there - here) * stride_of(mesh, axis);
    }
    return rank;
  }
};
/// What one exchange moves; of those that are not used `count` is 0.
using movements = std::span<movement const>;

/// How movements cross between ranks, as one rank takes part: in permutes, or in one all-to-all with counts. What a
/// rank sends to another is one message. The longest are sent first, each in the first permute in which neither its
/// sender nor its receiver has another; a permute is as long as its longest message. The all-to-all is taken where that
/// sends less, or as much in fewer collectives.
class exchange {
 public:
  struct permute {
    index count = 0;  // positions
    axis_mask axes = 0;
    int to = collective::nobody, from = collective::nobody;
  };
  backend::growing_array<permute> permutes;             // none, if it is one all-to-all, or nothing crosses
  axis_mask axes = 0;                                   // of the all-to-all
  index count = 0;                                      // of the longest message
  backend::growing_array<std::size_t> sends, receives;  // of the all-to-all, in positions, for each of its group

  constexpr exchange(mesh_shape const& mesh, movements all, int rank) : mesh_(mesh), rank_(rank) {
    axis_mask group = 0;
    for (auto const& m : all) {
      while (static_cast<int>(arrived_.size()) <= m.target) arrived_.push_back(0);
      if (m.of.count == 0) continue;
      crosses_ = crosses_ || m.along != 0;
      group |= m.from.split.mask() | m.to.split.mask();
      m.each_sender(mesh, rank, [&](int sender) {
        arrived_[static_cast<std::size_t>(m.target)] += m.part(mesh, rank, sender).count;
      });
    }
    if (!crosses_) return;
    collect(all, group);
    std::sort(messages_.begin(), messages_.end(), [](message const& a, message const& b) {
      return a.count != b.count ? a.count > b.count : a.to != b.to ? a.to < b.to : a.from < b.from;
    });
    arrange(group);
    if (permutes.size() > 1) consider_one();
  }

  /// What arrives at this rank for a target, and what it has itself of it.
  [[nodiscard]] constexpr index arrives(std::size_t target) const {
    return target < arrived_.size() ? arrived_[target] : 0;
  }
  [[nodiscard]] constexpr bool at_once() const { return !sends.empty(); }
  /// Positions that a rank sends, as plans count.
  [[nodiscard]] constexpr index sent() const {
    if (at_once()) return count * (mesh_.size(axes) - 1);
    index n = 0;
    for (auto const& p : permutes) n += p.count;
    return n;
  }
  [[nodiscard]] constexpr int collectives() const { return at_once() ? 1 : static_cast<int>(permutes.size()); }

 private:
  struct message {
    int from = 0, to = 0;
    index count = 0;
    axis_mask axes = 0;
  };

  /// The i-th rank of this one's group.
  [[nodiscard]] constexpr int member(axis_mask group, int i) const {
    int at = rank_;
    for (int a = mesh_.ndim - 1; a >= 0; --a)
      if ((group >> static_cast<unsigned>(a)) & 1U) {
        at += (i % mesh_.extent[a] - mesh_.coordinate(rank_, a)) * stride_of(mesh_, a);
        i /= mesh_.extent[a];
      }
    return at;
  }
  constexpr void collect(movements all, axis_mask group) {
    for (int i = 0; i < mesh_.size(group); ++i) {
      int const receiver = member(group, i);
      auto const before = messages_.size();
      for (auto const& m : all) {
        if (m.of.count == 0) continue;
        m.each_sender(mesh_, receiver, [&](int sender) {
          index const n = sender == receiver ? 0 : m.part(mesh_, receiver, sender).count;
          if (n == 0) return;
          for (auto at = before; at < messages_.size(); ++at)
            if (messages_[at].from == sender) {
              messages_[at].count += n;
              return;
            }
          messages_.push_back({sender, receiver, n, between(mesh_, sender, receiver)});
        });
      }
    }
  }
  constexpr void arrange(axis_mask group) {
    auto const ranks = static_cast<std::size_t>(mesh_.size(group));
    backend::growing_array<bool> taken;  // for each permute: who sends, who receives
    for (auto const& m : messages_) {
      auto const from = static_cast<std::size_t>(mesh_.index_within(m.from, group));
      auto const to = static_cast<std::size_t>(mesh_.index_within(m.to, group)) + ranks;
      std::size_t at = 0;
      while (at < permutes.size() && (taken[2 * ranks * at + from] || taken[2 * ranks * at + to])) ++at;
      if (at == permutes.size()) {
        permutes.push_back({.count = m.count});
        for (std::size_t i = 0; i < 2 * ranks; ++i) taken.push_back(false);
      }
      taken[2 * ranks * at + from] = taken[2 * ranks * at + to] = true;
      auto& p = permutes[at];
      p.axes |= m.axes;
      if (m.from == rank_) p.to = m.to;
      if (m.to == rank_) p.from = m.from;
    }
  }
  constexpr void consider_one() {
    for (auto const& p : permutes) axes |= p.axes;
    count = permutes[0].count;
    if (count * (mesh_.size(axes) - 1) > sent()) return;
    permutes.keep_first(0);
    for (int i = 0; i < mesh_.size(axes); ++i) {
      sends.push_back(0);
      receives.push_back(0);
    }
    for (auto const& m : messages_) {
      auto const n = static_cast<std::size_t>(m.count);
      if (m.from == rank_) sends[static_cast<std::size_t>(mesh_.index_within(m.to, axes))] = n;
      if (m.to == rank_) receives[static_cast<std::size_t>(mesh_.index_within(m.from, axes))] = n;
    }
  }

  mesh_shape mesh_;
  int rank_;
  bool crosses_ = false;
  backend::growing_array<message> messages_;
  backend::growing_array<index> arrived_;
};

}  // namespace mtf::detail
