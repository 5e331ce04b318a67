#pragma once
// A mesh as a value, and sets of its axes.
#include <cstdint>

#include <mtf/core/limits.hpp>

namespace mtf {

/// A set of mesh axes: bit i is the i-th axis of the mesh.
using axis_mask = std::uint32_t;

/// A mesh as a value: its extents, row-major over the ranks.
struct mesh_shape {
  int ndim = 0;
  int extent[max_axes]{1, 1, 1, 1, 1, 1};
  axis_mask node_axes = 0;  // axes whose links run inside one node

  [[nodiscard]] constexpr int size() const {
    int n = 1;
    for (int a = 0; a < ndim; ++a) n *= extent[a];
    return n;
  }
  /// The number of ranks along a set of axes.
  [[nodiscard]] constexpr int size(axis_mask axes) const {
    if (axes == 0) return 1;  // often, and of a constant expression each step counts
    int n = 1;
    for (int a = 0; a < ndim; ++a)
      if ((axes >> a) & 1U) n *= extent[a];
    return n;
  }
  /// The coordinate of a rank along one axis.
  [[nodiscard]] constexpr int coordinate(int of_rank, int axis) const {
    for (int a = ndim - 1; a > axis; --a) of_rank /= extent[a];
    return of_rank % extent[axis];
  }
  /// The rank's index among the ranks that differ from it only along `axes` (row-major over these axes).
  [[nodiscard]] constexpr int index_within(int of_rank, axis_mask axes) const {
    int i = 0;
    for (int a = 0; a < ndim; ++a)
      if ((axes >> a) & 1U) i = i * extent[a] + coordinate(of_rank, a);
    return i;
  }
  /// The index of the rank's group along `axes`: its position along all other axes. Ranks of one group share it.
  [[nodiscard]] constexpr int group_of(int of_rank, axis_mask axes) const {
    return index_within(of_rank, ~axes & ((1U << static_cast<unsigned>(ndim)) - 1U));
  }
  bool operator==(mesh_shape const&) const = default;
};

}  // namespace mtf
