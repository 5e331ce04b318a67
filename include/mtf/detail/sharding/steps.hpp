#pragma once
// The steps of a relayout, and what they send.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf::detail {

enum class step_kind : std::uint8_t {
  slice,
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  permute,
  scattered_all_reduce
};

/// One step of a relayout, from the sharding before it to `after`:
///   slice                 each rank keeps a part of its shard
///   all_reduce            the tensor is reduced over `axes`
///   reduce_scatter        the same, and each rank keeps the part that `after` gives it
///   all_gather            `axes` no longer split anything
///   all_to_all            `axes` split other dimensions than before, or some of them none
///   permute               each rank gets the shard of one rank of its group along `axes`
///   scattered_all_reduce  reduce-scatter over `inner_axes`, all-reduce over `axes`, all-gather over `inner_axes`
/// A reduce-scatter or all-to-all may be fused with a slice: where `after` is split over axes that were replicated,
/// messages hold only what the receiver keeps.
struct step {
  step_kind kind = step_kind::slice;
  axis_mask axes = 0, inner_axes = 0;
  int parts = 1;                            // ranks in a group
  index elements_in = 0, elements_out = 0;  // local sizes before and after
  sharding after;
  bool operator==(step const&) const = default;
};

struct steps {
  int size = 0;
  sharding from;
  std::array<step, 12> at{};
  constexpr void push(step const& s) { at[static_cast<std::size_t>(size++)] = s; }
  [[nodiscard]] constexpr step const& operator[](int i) const { return at[static_cast<std::size_t>(i)]; }
  [[nodiscard]] constexpr sharding const& before(int i) const { return i == 0 ? from : (*this)[i - 1].after; }
  [[nodiscard]] constexpr bool communicates() const {
    for (int i = 0; i < size; ++i)
      if ((*this)[i].kind != step_kind::slice) return true;
    return false;
  }
};

/// The elements that one rank puts into the collective of a step.
constexpr index payload_of(step_kind kind, int parts, index before, index after) {
  return kind == step_kind::reduce_scatter ? after * parts : kind == step_kind::all_to_all ? after : before;
}
constexpr index payload_of(step const& s) { return payload_of(s.kind, s.parts, s.elements_in, s.elements_out); }

/// The collective of a step that is a single one.
constexpr collective_kind collective_of(step_kind kind) {
  switch (kind) {
    case step_kind::reduce_scatter:
      return collective_kind::reduce_scatter;
    case step_kind::all_gather:
      return collective_kind::all_gather;
    case step_kind::all_to_all:
      return collective_kind::all_to_all;
    case step_kind::permute:
      return collective_kind::permute;
    default:
      return collective_kind::all_reduce;
  }
}

/// The bytes that one rank sends in a step.
constexpr std::uint64_t bytes_of(step const& s, mesh_shape const& mesh, int element_size) {
  if (s.kind == step_kind::slice) return 0;
  auto const payload = static_cast<std::uint64_t>(payload_of(s)) * static_cast<std::uint64_t>(element_size);
  if (s.kind != step_kind::scattered_all_reduce) return bytes_sent(collective_of(s.kind), payload, s.parts);
  int const inner = mesh.size(s.inner_axes);
  auto const share = payload / static_cast<std::uint64_t>(inner);
  return bytes_sent(collective_kind::reduce_scatter, payload, inner) +
         bytes_sent(collective_kind::all_reduce, share, mesh.size(s.axes)) +
         bytes_sent(collective_kind::all_gather, share, inner);
}
constexpr std::uint64_t bytes_of(steps const& all, mesh_shape const& mesh, int element_size) {
  std::uint64_t sum = 0;
  for (int i = 0; i < all.size; ++i) sum += bytes_of(all[i], mesh, element_size);
  return sum;
}

}  // namespace mtf::detail
