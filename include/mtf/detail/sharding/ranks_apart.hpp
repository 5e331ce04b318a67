#pragma once
// How ranks of a mesh differ.
#include <mtf/core/mesh_shape.hpp>

namespace mtf::detail {

/// The axes along which two ranks differ.
constexpr axis_mask between(mesh_shape const& mesh, int one, int other) {
  axis_mask m = 0;
  for (int a = 0; a < mesh.ndim; ++a)
    if (mesh.coordinate(one, a) != mesh.coordinate(other, a)) m |= axis_mask{1} << static_cast<unsigned>(a);
  return m;
}

}  // namespace mtf::detail
