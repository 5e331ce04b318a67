#pragma once
// What a computer can do, as a value: what plans are priced by.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf {

/// A speed at one size: flops or bytes a second.
struct speed {
  double size = 0, per_second = 0;
};

/// Speeds of one kind of work by its size, ascending. Between two sizes the time of a unit is linear in 1 / size, as is
/// that of work which costs a constant beside its size. Below the least size a run takes as long as one of that size;
/// above the largest the speed is the largest's.
struct speed_table {
  static constexpr int most = 12;
  std::array<speed, most> at{};
  int count = 0;

  constexpr speed_table() = default;
  /// The same at every size.
  constexpr explicit speed_table(double per_second) : count(1) { at[0] = {1, per_second}; }

  /// Of products of this peak whose operands come from a memory of this bandwidth: those of smallest extent s do 2 s
  /// flops for each element of `element` bytes that they read, until the peak is reached.
  static constexpr speed_table roofline(double flops_per_second, double bytes_per_second, double element) {
    double const thinnest = 2 * bytes_per_second / element;
    speed_table t;
    t.add({1, thinnest});
    if (flops_per_second > thinnest) t.add({flops_per_second / thinnest, flops_per_second});
    return t;
  }

  /// Adds a speed at a size above those that are there; one more than `most` is a user_error.
  constexpr void add(speed const& s) {
    if (count == most || (count > 0 && !(s.size > at[static_cast<std::size_t>(count) - 1].size)) || !(s.per_second > 0))
      throw user_error("a table has up to 12 speeds, each above 0 and of a larger size than the one before");
    at[static_cast<std::size_t>(count++)] = s;
  }
  /// Seconds for `amount` flops or bytes, done in runs of this size.
  [[nodiscard]] constexpr double seconds(double amount, double size) const {
    if (count == 0) throw user_error("this machine's description lacks a speed that the plan needs");
    auto const n = static_cast<std::size_t>(count);
    if (size < at[0].size && n > 1) return amount / at[0].per_second * (at[0].size / (size > 0 ? size : 1));
    std::size_t i = 1;
    while (i < n && at[i].size < size) ++i;
    if (i >= n) return amount / at[n - 1].per_second;
    auto const &low = at[i - 1], &high = at[i];
    double const part = (1 / size - 1 / high.size) / (1 / low.size - 1 / high.size);
    return amount * (part / low.per_second + (1 - part) / high.per_second);
  }
};

/// How fast a rank runs a primitive on elements of some bytes; a name or an element that is empty stands for all. Of
/// products flops a second by the smallest extent, of the rest bytes a second by the bytes of one run.
struct primitive_speed {
  short_name primitive;
  limit bound = limit::memory;
  std::size_t element = 0;
  speed_table speeds;
};

/// How fast a rank sends: a round takes `latency` seconds whatever it sends, and a collective over p ranks log2(p)
/// rounds; beside it bytes a second, by the bytes that the rank sends in the collective.
struct link_speed {
  double latency = 0;
  speed_table speeds;
};

/// A description of a computer: what one rank of it computes, while all others do the same, and what it sends.
/// `benchmarks/machine` measures this computer's; <mtf/plan/machines.hpp> has others, from published figures.
struct machine_description {
  static constexpr int most_primitives = 24;
  /// The collectives that have speeds of their own; an exclusive sum is made of permutes.
  static constexpr std::array link_kinds{collective_kind::all_reduce, collective_kind::reduce_scatter,
                                         collective_kind::all_gather, collective_kind::all_to_all,
                                         collective_kind::permute};
  static constexpr std::size_t kinds = link_kinds.size();

  short_name name;
  int ranks_per_node = 1;  // consecutive ranks share a node
  std::array<primitive_speed, most_primitives> primitives{};
  int primitive_count = 0;
  std::array<link_speed, kinds> in_node{}, between_nodes{};  // by kind of collective
  double overlap = 0;            // the share of a started collective's time that computation beside it hides, 0 to 1
  std::uint64_t memory = ~0ULL;  // bytes that a rank has

  /// Adds the speed of a primitive; one more than `most_primitives` is a user_error.
  constexpr machine_description& add(primitive_speed const& s) {
    if (primitive_count == most_primitives) throw user_error("a machine's description has up to 24 primitives");
    primitives[static_cast<std::size_t>(primitive_count++)] = s;
    return *this;
  }
  /// Links of one speed for all kinds of collectives.
  static constexpr std::array<link_speed, kinds> links(double latency, double bytes_per_second) {
    std::array<link_speed, kinds> all{};
    for (auto& l : all) l = {latency, speed_table(bytes_per_second)};
    return all;
  }

  /// Seconds for what an operation of a plan computes, by the entry that says most of it. None is a user_error.
  [[nodiscard]] constexpr double seconds(planned_work const& w) const {
    int best = -1, most = -1;
    for (int i = 0; i < primitive_count; ++i) {
      auto const& p = primitives[static_cast<std::size_t>(i)];
      bool const any = p.primitive.view().empty(), named = !any && p.primitive.view() == w.primitive;
      bool const sized = p.element == w.grade.element;
      if (p.bound != w.bound || !(named || any) || !(sized || p.element == 0)) continue;
      if (int const said = (named ? 2 : 0) + (sized ? 1 : 0); said > most) best = i, most = said;
    }
    if (best < 0) throw user_error("this machine's description lacks a speed of " + std::string(w.primitive));
    return primitives[static_cast<std::size_t>(best)].speeds.seconds(w.bound == limit::matrix ? w.flops : w.bytes,
                                                                     static_cast<double>(w.grade.size));
  }

  /// Seconds for one collective over the axes of a mesh; `payload` as for mtf::bytes_sent. One that leaves the nodes
  /// goes through each node first, as NCCL's and this library's reductions do.
  [[nodiscard]] constexpr double seconds(collective_kind kind, std::uint64_t payload, mesh_shape const& mesh,
                                         axis_mask axes) const {
    int const all = mesh.size(axes), inside = ranks_in_node(mesh, axes), nodes = all / inside;
    auto const part = payload / static_cast<std::uint64_t>(inside);
    switch (kind) {
      case collective_kind::all_reduce:
        if (inside == 1 || nodes == 1) break;
        return near(collective_kind::reduce_scatter, payload, inside) + far(kind, part, nodes) +
               near(collective_kind::all_gather, part, inside);
      case collective_kind::reduce_scatter:
        return near(kind, payload, inside) + far(kind, part, nodes);
      case collective_kind::all_gather:
        return far(kind, payload, nodes) + near(kind, payload * static_cast<std::uint64_t>(nodes), inside);
      case collective_kind::all_to_all:
        return near(kind, payload / static_cast<std::uint64_t>(nodes), inside) + far(kind, payload, nodes);
      case collective_kind::exclusive_sum: {  // by doubling: a permute in each round
        auto const& links = nodes == 1 ? in_node : between_nodes;
        return rounds_of(all) * over(links, collective_kind::permute, payload, all == 1 ? 1 : 2);
      }
      case collective_kind::permute:
        break;
    }
    return nodes == 1 ? near(kind, payload, inside) : far(kind, payload, nodes);
  }

  /// How many ranks of a group along `axes` share a node.
  [[nodiscard]] constexpr int ranks_in_node(mesh_shape const& mesh, axis_mask axes) const {
    int inside = 1, stride = 1;
    for (int a = mesh.ndim; a-- > 0;) {
      int const extent = mesh.extent[static_cast<std::size_t>(a)], room = ranks_per_node / stride;
      if (((axes >> static_cast<unsigned>(a)) & 1U) != 0)
        for (int n = extent < room ? extent : room; n > 1; --n)
          if (extent % n == 0) {
            inside *= n;
            break;
          }
      stride *= extent;
    }
    return inside;
  }

 private:
  [[nodiscard]] constexpr double near(collective_kind kind, std::uint64_t payload, int ranks) const {
    return over(in_node, kind, payload, ranks);
  }
  [[nodiscard]] constexpr double far(collective_kind kind, std::uint64_t payload, int ranks) const {
    return over(between_nodes, kind, payload, ranks);
  }
  static constexpr int rounds_of(int ranks) {
    int rounds = 0;
    while (1 << rounds < ranks) ++rounds;
    return rounds;
  }
  static constexpr double over(std::array<link_speed, kinds> const& links, collective_kind kind, std::uint64_t payload,
                               int ranks) {
    if (ranks == 1) return 0;
    auto const& l = links[static_cast<std::size_t>(kind)];
    auto const sent = static_cast<double>(bytes_sent(kind, payload, ranks));
    return rounds_of(ranks) * l.latency + l.speeds.seconds(sent, sent);
  }
};

/// Seconds of a rank's step by what takes them.
struct step_price {
  double products = 0, kernels = 0, collectives = 0;
  double hidden = 0;  // of the collectives: beside the backward pass

  /// Of the whole step.
  [[nodiscard]] constexpr double seconds() const { return products + kernels + collectives - hidden; }
};

}  // namespace mtf
