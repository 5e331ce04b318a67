#pragma once
// Partial tensors: sums that are not reduced yet.
#include <mtf/core/dim.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf {

/// The mesh axes over which a tensor is partial: each rank along them holds one term of a sum that is not reduced yet.
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
