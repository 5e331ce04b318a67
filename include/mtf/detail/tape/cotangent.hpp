#pragma once
// What one rank holds of a gradient.
#include <mtf/backend/buffer.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf::detail {

/// What one rank holds of a gradient: its memory (empty: zero), and the axes over which it is partial.
template <class Backend>
struct cotangent {
  buffer<Backend> memory;
  axis_mask partial = 0;
};

}  // namespace mtf::detail
