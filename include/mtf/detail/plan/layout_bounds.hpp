#pragma once
// Lower bounds of what a step takes under a layout, without its plan.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/plan/layout_space.hpp>
#include <mtf/detail/plan/outline.hpp>
#include <mtf/detail/tape/completion.hpp>
#include <mtf/plan/machine.hpp>

namespace mtf::detail {

// Why no layout that is better is missed. What a step takes under a layout is no less than its bound, which is made of
// parts that are each no less than this:
// - Work. All ranks together do at least what one rank does alone, and all do equally much. Ranks along an axis that
//   splits no dimension of an operation's operands or result do the same work again. So each rank does at least that of
//   one rank, divided by the extents of the axes that split one of these dimensions; at the speed that the machine has
//   at its best, in products at its best up to the smallest extent that the operands' dimensions allow.
// - Gradients. An operation with a parameter adds to its gradient a sum over the dimensions of the operation's result
//   that the parameter lacks. If an axis splits one of these and none of the parameter's own, its ranks have different
//   terms. An all-reduce adds them up, or a reduce-scatter, after which an all-gather gives all ranks the updated
//   parameter. At best that takes the bytes of the parameter's shard over the machine's bandwidth: along these axes or,
//   since terms may differ along others too, these and any others, whichever is cheapest. Small gradients share a
//   message (`is_small`), so of these the latency of one collective counts, along the most ranks that one of them
//   needs. Each other one is sent by itself.
// - All other collectives. Operations treat each axis apart: what has to be sent along one has to be sent whatever the
//   others split, in shards that are smaller by at most their extents. So the collectives of a layout take at least
//   those of its restriction to one axis, whose plan is made: its bytes divided by the extents of the other axes that
//   split something, and all of its latencies. (Of an axis' extent rules ask only whether it divides, so one plan does
//   for axes of all extents that do.) Since one collective may run along several axes, the greatest of these
//   bounds counts, not their sum.
// - Collectives hide behind the backward pass only if they were started there, and only gradients' are: with W seconds
//   of work there and G of gradients' collectives, of which a share o can hide, at least max(W + (1 - o) G, G) remain.
// - Memory. A rank holds its shards of the parameters.
// A price below its bound ends the search with an error (tests/local/search_test.cpp holds both against enumeration).
class layout_bounds {
 public:
  /// `best`: the machine as at_best makes it.
  constexpr layout_bounds(program_outline const& outline, machine_description const& best, mesh_shape const& mesh)
      : outline_(&outline), mesh_(mesh) {
    ranks_[0] = 1;
    for (axis_mask m = 1; m < axis_mask{1} << static_cast<unsigned>(mesh.ndim); ++m) {
      auto const parts = static_cast<std::uint64_t>(mesh.size(m));
      ranks_[m] = static_cast<double>(parts);
      auto const cost = [&](collective_kind kind, std::uint64_t payload) {
        double const latency = best.seconds(kind, 0, mesh, m);
        return affine{latency, (best.seconds(kind, payload, mesh, m) - latency) / static_cast<double>(payload)};
      };
      auto const n = many * parts;
      affine const reduced = cost(collective_kind::all_reduce, n), scattered = cost(collective_kind::reduce_scatter, n);
      affine gathered = cost(collective_kind::all_gather, many);
      reduction_[m] = {std::min(reduced.latency, scattered.latency + gathered.latency),
                       std::min(reduced.byte, scattered.byte + gathered.byte / ranks_[m])};
      if ((m & (m - 1)) == 0) {
        std::size_t a = 0;
        while (m >> a != 1) ++a;
        along_[a] = {reduction_[m], scattered, gathered, cost(collective_kind::all_to_all, n),
                     cost(collective_kind::permute, n)};
      }
    }
  }

  /// What the collectives of a plan on one axis, but for gradients', put in, by kind.
  struct collectives_sent {
    std::array<double, collective_kinds.size()> count{}, payload{};  // without what may hide behind work
    double bytes_sent = 0;

    /// Whether it tells what is sent on an axis of another extent. How many permutes there are may depend on it, as
    /// where keys go round.
    [[nodiscard]] constexpr bool tells_of_others() const {
      return count[static_cast<std::size_t>(collective_kind::permute)] == 0;
    }
    /// The same on an axis of `to` ranks, if this is on one of `from`: what is summed up is not split by it, the rest
    /// is. (Bytes sent at the least: they are whole numbers, rounded down by less than 2 each.)
    [[nodiscard]] constexpr collectives_sent on_another(int from, int to) const {
      if (from == to) return *this;
      auto other = *this;
      other.bytes_sent = 0;
      for (std::size_t k = 0; k < machine_description::kinds; ++k) {  // an exclusive sum bounds nothing
        auto const kind = static_cast<collective_kind>(k);
        if (kind != collective_kind::all_reduce && kind != collective_kind::reduce_scatter)
          other.payload[k] = payload[k] * from / to;
        auto const sent = mtf::bytes_sent(kind, static_cast<std::uint64_t>(other.payload[k]), to);
        other.bytes_sent += std::max(0.0, static_cast<double>(sent) - 2 * count[k]);
      }
      return other;
    }
  };

  struct parts {
    double forward = 0, backward = 0;  // seconds of work
    double gradients = 0, others = 0;  // seconds of collectives
    double bytes_sent = 0, memory = 0;
    /// No more than what these parts add to the seconds of a step of which they are not all.
    [[nodiscard]] constexpr double seconds_added(double overlap) const {
      return forward + backward + others + (1 - overlap) * gradients;
    }
    /// Of the whole step. `overlap`: the share of a started collective's time that can be hidden.
    [[nodiscard]] constexpr double seconds(double overlap) const {
      return forward + others + std::max(backward + (1 - overlap) * gradients, gradients);
    }
  };
  /// What is known to be under the layout `of`; `any`: all that the program has.
  constexpr parts of(int layout, all_choices const& choices) const {
    parts p;
    double latency = 0;
    bool const all = layout == program_outline::any;
    auto const split = sets_of(choices);
    axis_mask const splitting =
        all ? axes_on(~dim_mask{0}, layout, split) : (axis_mask{1} << static_cast<unsigned>(mesh_.ndim)) - 1;
    for (auto const& w : outline_->works)
      if (all || w.layout == layout)
        (w.backward ? p.backward : p.forward) += w.seconds / ranks_[axes_on(w.dims, w.layout, split)];
    for (auto const& g : outline_->gradients) {
      if (!all && g.layout != layout) continue;
      axis_mask const own = axes_on(g.own, g.layout, split), sum = axes_on(g.result, g.layout, split) & ~own;
      double const shard = g.bytes / ranks_[own];
      p.memory += g.count * shard;
      if (sum == 0) continue;
      auto const reduction = cheapest_reduction(sum, splitting & ~own);
      p.gradients += g.count * shard * reduction.byte;
      if (is_small(static_cast<backend::index>(shard), 1))
        latency = std::max(latency, reduction.latency);
      else
        p.gradients += g.count * reduction.latency;
      double const n = ranks_[sum];
      p.bytes_sent += 2 * (n - 1) / n * g.count * shard;
    }
    p.gradients += all ? latency : 0;
    return p;
  }
  /// All of the program. `alone`: for each axis, of the plan in which it alone splits what it does here.
  constexpr parts refined(all_choices const& choices, std::array<collectives_sent, max_axes> const& alone) const {
    parts p = of(program_outline::any, choices);
    double const splitting = ranks_[axes_on(~dim_mask{0}, program_outline::any, sets_of(choices))];
    double most_bytes = 0;
    for (std::size_t a = 0; a < static_cast<std::size_t>(mesh_.ndim); ++a) {
      double const others = splitting / mesh_.extent[a];
      double seconds = 0;
      for (std::size_t k = 0; k < along_[a].size(); ++k)
        seconds += alone[a].count[k] * along_[a][k].latency + alone[a].payload[k] / others * along_[a][k].byte;
      p.others = std::max(p.others, seconds);
      most_bytes = std::max(most_bytes, alone[a].bytes_sent / others);
    }
    p.bytes_sent += most_bytes;
    return p;
  }

 private:
  /// Seconds of a collective and of each byte that it is given.
  struct affine {
    double latency = 0, byte = 0;
  };
  /// Over these axes, and over any more of `others`: terms may differ along these as well, and a sum over more ranks
  /// may take less time, as each node sends one part of its own sum.
  [[nodiscard]] constexpr affine cheapest_reduction(axis_mask axes, axis_mask others) const {
    affine least = reduction_[axes];
    axis_mask const more = others & ~axes;
    for (axis_mask m = more; m != 0; m = (m - 1) & more) {
      least.latency = std::min(least.latency, reduction_[axes | m].latency);
      least.byte = std::min(least.byte, reduction_[axes | m].byte);
    }
    return least;
  }
  /// all_choices, without std::array: of a constant expression each call of [] is steps, and these are looked at most.
  struct split_sets {
    dim_mask by[max_layouts][max_axes] = {};  // under each layout, each axis
    dim_mask any[max_axes] = {};
  };
  [[nodiscard]] constexpr split_sets sets_of(all_choices const& choices) const {
    split_sets s;
    for (std::size_t l = 0; l < outline_->layouts; ++l)
      for (std::size_t a = 0; a < static_cast<std::size_t>(mesh_.ndim); ++a) {
        s.by[l][a] = choices[l][a];
        s.any[a] |= choices[l][a];
      }
    return s;
  }
  /// The axes that split one of these dimensions under a layout, or under any.
  [[nodiscard]] constexpr axis_mask axes_on(dim_mask dims, int layout, split_sets const& split) const {
    axis_mask m = 0, bit = 1;
    auto const* const sets = layout == program_outline::any ? split.any : split.by[layout];
    for (int a = 0; a < mesh_.ndim; ++a, bit <<= 1U)
      if ((sets[a] & dims) != 0) m |= bit;
    return m;
  }

  static constexpr std::uint64_t many = std::uint64_t{1} << 40U;
  program_outline const* outline_;
  mesh_shape mesh_;
  double ranks_[std::size_t{1} << max_axes] = {};                                 // along axes
  std::array<affine, std::size_t{1} << max_axes> reduction_{};                    // by axes
  std::array<std::array<affine, machine_description::kinds>, max_axes> along_{};  // by kind, along one axis
};

}  // namespace mtf::detail
