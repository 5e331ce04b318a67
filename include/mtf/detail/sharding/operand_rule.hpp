#pragma once
// What all operations on several tensors share: which dimensions the operands have together, whether these are split in
// the same way, over which axes the result stays partial, and which operands must be reduced first.
#include <array>
#include <bit>
#include <cstddef>

#include <mtf/core/limits.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/finding.hpp>

namespace mtf::detail {

template <std::size_t N>
struct operand_rule {
  finding wrong;
  sharding together;                    // all dimensions, in order of first appearance; partial: as the result
  std::array<axis_mask, N> complete{};  // axes over which each operand is reduced first
};

/// Merges the operands of one operation. No axis may split two dimensions of their union: a rank would hold blocks of
/// the two operands that do not belong together.
template <std::size_t N>
constexpr operand_rule<N> merge_operands(std::array<sharding, N> const& in, linearity linear) {
  operand_rule<N> r;
  int from[max_dims * N] = {}, from_dim[max_dims * N] = {};
  auto& all = r.together;
  int i = 0;
  for (auto const& s : in) {
    for (int d = 0; d < s.ndim; ++d) {
      auto const& dim = s[d];
      if (int const e = all.find(dim.id); e >= 0) {
        auto const& before = all[e];
        finding const where{.i = from[e], .di = from_dim[e], .j = i, .dj = d};
        if (before.extent != dim.extent || before.pad != dim.pad) {
          r.wrong = where;
          r.wrong.what = finding::kind::extents;
          return r;
        }
        if (before.split != dim.split) {
          r.wrong = where;
          r.wrong.what = finding::kind::splits;
          return r;
        }
        continue;
      }
      if (axis_mask const mine = dim.split.mask(); mine != 0)
        for (int e = 0; e < all.ndim; ++e)
          if (axis_mask const both = all[e].split.mask() & mine; both != 0) {
            r.wrong = {finding::kind::two_dims_on_axis, from[e], from_dim[e], i, d, std::countr_zero(both)};
            return r;
          }
      if (all.ndim == max_dims) {
        r.wrong = {.what = finding::kind::too_many_dims, .j = i};
        return r;
      }
      from[all.ndim] = i;
      from_dim[all.ndim] = d;
      all.push(dim);
    }
    ++i;
  }

  // The result stays partial over an axis if the operation is linear there and no operand is split over it.
  axis_mask any = 0, two = 0, every = ~0U;
  for (auto const& s : in) {
    two |= any & s.partial;
    any |= s.partial;
    every &= s.partial;
  }
  axis_mask pass = 0;
  switch (linear) {
    case linearity::none:
      break;
    case linearity::additive:
      pass = every;
      break;
    case linearity::multiplicative:
      pass = any & ~two;
      break;
    case linearity::first:
      pass = N > 0 ? in[0].partial & ~two : 0;
      break;
  }
  pass &= ~all.split_axes();
  all.partial = pass;
  for (std::size_t o = 0; o < N; ++o) r.complete[o] = in[o].partial & ~pass;
  return r;
}

/// (A concept: nvcc 13.0 ends in an internal error where `requires` names a pack whose types are `auto`.)
template <class Of, class... Sharding>
concept finds_what_is_wrong = requires(Sharding const&... in) { Of::wrong(in...); };
/// What is wrong with operands that lie so, for a call or a rule: the one statement that is asked of types and of
/// values. It is what `Of::wrong(sharding...)` finds; of several operands, where `Of` says nothing, what keeps them
/// from meeting.
template <class Of, class... Sharding>
constexpr finding wrong_with(Sharding const&... in) {
  if constexpr (finds_what_is_wrong<Of, Sharding...>)
    return Of::wrong(in...);
  else if constexpr (sizeof...(in) > 1)
    return merge_operands<sizeof...(in)>({in...}, linearity::none).wrong;
  else
    return {};
}

}  // namespace mtf::detail
