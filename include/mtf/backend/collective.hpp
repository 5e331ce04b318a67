#pragma once
// One collective, as a value: what programs, plans, counters and every backend between ranks speak of.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf {

/// The kinds of collectives.
enum class collective_kind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  permute,
  exclusive_sum
};
/// All of them.
inline constexpr std::array collective_kinds{collective_kind::all_reduce, collective_kind::reduce_scatter,
                                             collective_kind::all_gather, collective_kind::all_to_all,
                                             collective_kind::permute,    collective_kind::exclusive_sum};
/// How an all-reduce combines two elements.
enum class combine : std::uint8_t { sum, max, min };

/// As in plans and errors, such as "all-reduce".
constexpr char const* name_of(collective_kind kind) {
  constexpr std::array<char const*, collective_kinds.size()> names{"all-reduce", "reduce-scatter", "all-gather",
                                                                   "all-to-all", "permute",        "exclusive sum"};
  return names[static_cast<std::size_t>(kind)];
}

/// Bytes that one rank sends in a bandwidth-optimal algorithm over p ranks. `payload` is the rank's input in bytes
/// (all-gather: its shard; the others: the whole buffer).
constexpr std::uint64_t bytes_sent(collective_kind kind, std::uint64_t payload, int p) {
  auto const n = static_cast<std::uint64_t>(p);
  switch (kind) {
    case collective_kind::all_reduce:
      return 2 * (payload * (n - 1) / n);
    case collective_kind::reduce_scatter:
    case collective_kind::all_to_all:
      return payload * (n - 1) / n;
    case collective_kind::all_gather:
      return payload * (n - 1);
    case collective_kind::permute:
      return payload;
    case collective_kind::exclusive_sum:  // each hands the sum so far to the next
      return p > 1 ? payload : 0;
  }
  return 0;
}

/// One collective as one rank makes it. Its group are the ranks that differ from it only along `axes`, ordered
/// row-major by their coordinates; all of them make it, with the same kind, axes, element type, count and combination.
/// Counts are in elements. Where its data lies is said when it is made: communicate(c, in, out). The two buffers do not
/// overlap where nothing else is said.
struct collective {
  /// In place of a permute's partner: none.
  static constexpr int nobody = -1;

  collective_kind kind = collective_kind::all_reduce;
  axis_mask axes = 0;
  element type = element::f32;
  std::size_t count = 0;
  combine op = combine::sum;
  int to = nobody, from = nobody;                           // of a permute: ranks of the mesh
  std::size_t const *sends = nullptr, *receives = nullptr;  // of an all-to-all with counts: one for each of the group
  bool on_device = false;                                   // see collectives::takes_device_memory

  bool operator==(collective const&) const = default;

  /// out = combination of all `in` of the group, `count` elements; in == out is allowed.
  static constexpr collective all_reduce(axis_mask axes, combine op, element type, std::size_t count) {
    return {collective_kind::all_reduce, axes, type, count, op};
  }
  /// `in` holds one block of `count` elements for each rank of the group; out = the sum of the blocks meant for this
  /// rank.
  static constexpr collective reduce_scatter(axis_mask axes, element type, std::size_t count) {
    return {collective_kind::reduce_scatter, axes, type, count};
  }
  /// out = the `in` blocks of `count` elements of all ranks of the group, in group order; `in` may be this rank's block
  /// of `out`.
  static constexpr collective all_gather(axis_mask axes, element type, std::size_t count) {
    return {collective_kind::all_gather, axes, type, count};
  }
  /// Block i of `in` (`count` elements) goes to rank i of the group; block j of `out` comes from rank j.
  static constexpr collective all_to_all(axis_mask axes, element type, std::size_t count) {
    return {collective_kind::all_to_all, axes, type, count};
  }
  /// As all_to_all, of which only the first sends[i] elements of block i go to rank i, and receives[j] come from rank
  /// j; the rest of `out` is left as it is. The counts lie in memory of the host until the collective is over. What
  /// sends must be what its receiver expects, and at most `count`: that is the most that can be sent, which plans and
  /// counters take to be sent.
  static constexpr collective all_to_all(axis_mask axes, element type, std::size_t count, std::size_t const* sends,
                                         std::size_t const* receives) {
    collective c = all_to_all(axes, type, count);
    c.sends = sends;
    c.receives = receives;
    return c;
  }
  /// Sends `in` to rank `to` of the mesh, receives `out` from rank `from`; `axes` names the axes along which they
  /// differ. With `nobody` in place of `to` nothing is sent, in place of `from` out = 0.
  static constexpr collective permute(axis_mask axes, element type, std::size_t count, int to, int from) {
    collective c{collective_kind::permute, axes, type, count};
    c.to = to;
    c.from = from;
    return c;
  }
  /// The permute that sends `in` to the rank `by` places further along one axis, as `rank` of the mesh makes it. The
  /// ends are open: what has no neighbour sends to nobody, or gets zeros.
  static constexpr collective shift(mesh_shape const& mesh, int rank, int axis, int by, element type,
                                    std::size_t count) {
    int stride = 1;
    for (int a = axis + 1; a < mesh.ndim; ++a) stride *= mesh.size(axis_mask{1} << static_cast<unsigned>(a));
    auto const mask = axis_mask{1} << static_cast<unsigned>(axis);
    int const here = mesh.coordinate(rank, axis), ranks = mesh.size(mask);
    auto const at = [&](int c) { return c < 0 || c >= ranks ? nobody : rank + (c - here) * stride; };
    return permute(mask, type, count, at(here + by), at(here - by));
  }
  /// out = the sum of the `in` of the ranks before this one in the group; the first rank's is 0.
  static constexpr collective exclusive_sum(axis_mask axes, element type, std::size_t count) {
    return {collective_kind::exclusive_sum, axes, type, count};
  }

  /// The elements of `in` over p ranks: `count`, or one block of so many for each rank.
  [[nodiscard]] constexpr std::size_t elements_in(int p) const {
    bool const blocks = kind == collective_kind::reduce_scatter || kind == collective_kind::all_to_all;
    return blocks ? count * static_cast<std::size_t>(p) : count;
  }
  /// The elements of `out`, likewise.
  [[nodiscard]] constexpr std::size_t elements_out(int p) const {
    bool const blocks = kind == collective_kind::all_gather || kind == collective_kind::all_to_all;
    return blocks ? count * static_cast<std::size_t>(p) : count;
  }
  /// The bytes of `in`, which plans and counters know it by.
  [[nodiscard]] constexpr std::uint64_t payload(int p) const {
    return static_cast<std::uint64_t>(elements_in(p)) * static_cast<std::uint64_t>(bytes_of(type));
  }
  /// In a group of one rank out = the first so many elements of `in`.
  [[nodiscard]] constexpr std::size_t kept_alone() const {
    if (sends != nullptr) return sends[0];
    return out_is_zero(true) ? 0 : count;
  }
  /// out = 0, as nothing comes from anybody; `first`: the rank is the first of its group.
  [[nodiscard]] constexpr bool out_is_zero(bool first) const {
    return (kind == collective_kind::permute && from == nobody) || (kind == collective_kind::exclusive_sum && first);
  }
};

}  // namespace mtf
