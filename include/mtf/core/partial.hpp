#pragma once
// Sums that are not taken yet.
#include <mtf/core/dim.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf {

/// The mesh axes along which the ranks hold terms of a sum that is not taken yet.
template <mesh_axis... Axes>
struct partial {
  /// The axes as a set; an axis that the mesh lacks is left out.
  template <class Mesh>
  static constexpr axis_mask mask() {
    axis_mask m = 0;
    ((m |= Mesh::find(Axes::id) < 0 ? 0U : 1U << static_cast<unsigned>(Mesh::find(Axes::id))), ...);
    return m;
  }
};

}  // namespace mtf
