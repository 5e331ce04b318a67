#pragma once
// A gradient on one rank.
#include <mtf/backend/buffer.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf::detail {

/// A gradient on one rank: its memory (empty: zero), and the axes over which it is partial.
template <class Backend>
struct cotangent {
  buffer<Backend> memory;
  axis_mask partial = 0;
};

}  // namespace mtf::detail
