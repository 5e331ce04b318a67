#pragma once
// What a sharding rule found wrong.
#include <bit>
#include <cstdint>

#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf::detail {

/// What is wrong, by position: operand i's dimension di, operand j's dimension dj, and an axis. A verdict adds the
/// names.
struct finding {
  enum class kind : std::uint8_t {
    none,
    extents,
    splits,
    two_dims_on_axis,
    split_where_partial,
    unknown_output,
    outer_product,
    too_many_dims
  };
  kind what = kind::none;
  int i = 0, di = 0, j = 0, dj = 0, axis = 0;
};

/// Checks one tensor: two dimensions on one axis, or a dimension split over an axis over which it is partial.
constexpr finding check_sharding(sharding const& s) {
  for (int d = 0; d < s.ndim; ++d) {
    for (int e = 0; e < d; ++e)
      if (axis_mask const both = s[d].split.mask() & s[e].split.mask(); both != 0)
        return {finding::kind::two_dims_on_axis, 0, e, 0, d, std::countr_zero(both)};
    if (axis_mask const both = s[d].split.mask() & s.partial; both != 0)
      return {finding::kind::split_where_partial, 0, d, 0, d, std::countr_zero(both)};
  }
  return {};
}

}  // namespace mtf::detail
