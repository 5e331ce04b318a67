#pragma once
// The rules that every operation on several tensors shares: which dimensions the operands have together, whether they are
// cut alike, what is partial in the result, and which operands must be completed first.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/detail/sharding/sharding.hpp>

namespace mtf::detail {

/// What a rule found wrong, by position: operand i's dimension di and operand j's dimension dj, and an axis.
struct finding {
  enum class kind : std::uint8_t { none, extents, cuts, two_dims_on_axis, cut_where_partial, unknown_output, outer_product };
  kind what = kind::none;
  int i = 0, di = 0, j = 0, dj = 0, axis = 0;
};

/// Where an operation is linear, as far as sums may pass through it.
enum class linearity : std::uint8_t {
  none,            // completes every partial operand
  additive,        // f(sum x, sum y) = sum f(x, y): passes where all operands are partial
  multiplicative,  // linear in each operand by itself: passes where one operand is partial and the others do not vary
  first,           // linear in the first operand only (a division)
};

template <std::size_t N>
struct operand_rule {
  finding wrong;
  sharding together;                        // all dimensions, in order of first appearance; partial: what may pass
  std::array<axis_mask, N> complete{};      // axes over which each operand is completed first
};

/// Merges the operands of one operation. The union of their dimensions must lie on the mesh without two of them on one
/// axis: otherwise a rank would hold blocks that do not meet.
template <std::size_t N>
constexpr operand_rule<N> merge_operands(std::array<sharding, N> const& in, linearity linear) {
  operand_rule<N> r;
  std::array<int, max_rank * N> from{}, from_dim{};
  auto& all = r.together;
  for (std::size_t o = 0; o < N; ++o)
    for (int d = 0; d < in[o].rank; ++d) {
      int const i = static_cast<int>(o);
      if (int const e = all.find(in[o][d].id); e >= 0) {
        auto const at = static_cast<std::size_t>(e);
        finding const where{.i = from[at], .di = from_dim[at], .j = i, .dj = d};
        if (all[e].extent != in[o][d].extent) {
          r.wrong = where;
          r.wrong.what = finding::kind::extents;
          return r;
        }
        if (all[e].cut != in[o][d].cut) {
          r.wrong = where;
          r.wrong.what = finding::kind::cuts;
          return r;
        }
        continue;
      }
      for (int e = 0; e < all.rank; ++e)
        if (axis_mask const both = all[e].cut.mask() & in[o][d].cut.mask(); both != 0) {
          auto const at = static_cast<std::size_t>(e);
          r.wrong = {finding::kind::two_dims_on_axis, from[at], from_dim[at], i, d, std::countr_zero(both)};
          return r;
        }
      from[static_cast<std::size_t>(all.rank)] = i;
      from_dim[static_cast<std::size_t>(all.rank)] = d;
      all.push(in[o][d]);
    }

  // An axis is passed on if the operation is linear there and nothing else varies along it.
  axis_mask any = 0, two = 0, every = ~0U;
  for (auto const& s : in) {
    two |= any & s.partial;
    any |= s.partial;
    every &= s.partial;
  }
  axis_mask pass = 0;
  switch (linear) {
    case linearity::none: break;
    case linearity::additive: pass = every; break;
    case linearity::multiplicative: pass = any & ~two; break;
    case linearity::first: pass = N > 0 ? in[0].partial & ~two : 0; break;
  }
  pass &= ~all.cut_axes();
  all.partial = pass;
  for (std::size_t o = 0; o < N; ++o) r.complete[o] = in[o].partial & ~pass;
  return r;
}

/// Two dimensions of one sharding on one axis, or a dimension cut where the tensor is partial.
constexpr finding check_sharding(sharding const& s) {
  for (int d = 0; d < s.rank; ++d) {
    for (int e = 0; e < d; ++e)
      if (axis_mask const both = s[d].cut.mask() & s[e].cut.mask(); both != 0)
        return {finding::kind::two_dims_on_axis, 0, e, 0, d, std::countr_zero(both)};
    if (axis_mask const both = s[d].cut.mask() & s.partial; both != 0)
      return {finding::kind::cut_where_partial, 0, d, 0, d, std::countr_zero(both)};
  }
  return {};
}

}  // namespace mtf::detail
