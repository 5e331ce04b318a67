#pragma once
// The sharding of a tensor on a mesh, as a value: its dimensions, the axes that split each, the axes over which it is
// partial. All rules are constexpr functions over these values; there is no second copy of a rule
// (docs/design/operations.md, "The three parts of an operation").
#include <cstdint>

#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf {

/// The axes that split one dimension, outermost first, as positions in the mesh.
struct axis_list {
  int size = 0;
  std::uint8_t at[max_axes]{};  // no std::array: for the compiler each index would be two calls more

  /// Adds an axis, innermost.
  constexpr void push(int axis) { at[size++] = static_cast<std::uint8_t>(axis); }
  /// Removes the innermost axis.
  constexpr void pop() { at[--size] = 0; }
  [[nodiscard]] constexpr int operator[](int i) const { return at[i]; }
  /// The innermost axis; there is one.
  [[nodiscard]] constexpr int last() const { return at[size - 1]; }
  /// The axes as a set.
  [[nodiscard]] constexpr axis_mask mask() const {
    axis_mask m = 0;
    for (int i = 0; i < size; ++i) m |= 1U << at[i];
    return m;
  }
  /// The first `size` axes are those of `other`.
  [[nodiscard]] constexpr bool prefix_of(axis_list const& other) const {
    for (int i = 0; i < size; ++i)
      if (i >= other.size || at[i] != other.at[i]) return false;
    return true;
  }
  constexpr bool operator==(axis_list const& o) const { return size == o.size && prefix_of(o); }
};

/// A dimension of a tensor: its id and name, its global extent, the axes that split it (`split`). Its last positions
/// may be pads, which count for nothing.
struct dim_state {
  std::uint64_t id = 0;
  std::int64_t extent = 1;  // global, of what is stored
  axis_list split;
  std::int32_t pad = 0;   // of these positions
  char const* name = "";  // for people to read
  std::uint64_t kin = 0;  // of an alias: the dimension whose rule it follows
  constexpr bool operator==(dim_state const& o) const {
    return id == o.id && extent == o.extent && pad == o.pad && split == o.split;
  }
  /// Without pads.
  [[nodiscard]] constexpr std::int64_t logical() const { return extent - pad; }
};

/// What one axis does to one dimension that it splits.
struct axis_share {
  std::int64_t parts = 1;  // of the dimension
  std::int64_t inner = 1;  // ranks in a row along the axis that have the same part

  /// Which part the rank with this coordinate along the axis has.
  [[nodiscard]] constexpr std::int64_t part_at(std::int64_t coordinate) const { return coordinate / inner % parts; }
};

/// A tensor's dimensions, outermost first, and the axes over which it is partial. An axis splits one dimension. Only of
/// an optimizer's state may it split several, of which it divides none (detail::split_further): each is then split into
/// the greatest common divisor of what is left of the dimension and what the outer dimensions leave of the axis.
struct sharding {
  int ndim = 0;
  dim_state dim[max_dims];  // GCC 12 does not convert `{}` to what has an array with an initializer
  axis_mask partial = 0;
  bool padded = false;  // a dimension may have pads

  [[nodiscard]] constexpr dim_state const& operator[](int d) const { return dim[d]; }
  [[nodiscard]] constexpr dim_state& operator[](int d) { return dim[d]; }
  /// Beyond max_dims nothing: shapes and operands of so many dimensions are refused.
  constexpr void push(dim_state const& d) {
    if (ndim < max_dims) dim[ndim++] = d;
    padded = padded || d.pad != 0;
  }
  /// The position of a dimension, by its name's id; -1 if it is not there.
  [[nodiscard]] constexpr int find(std::uint64_t id) const {
    for (int d = 0; d < ndim; ++d)
      if (dim[d].id == id) return d;
    return -1;
  }
  /// Whether it has a dimension, by its name's id.
  [[nodiscard]] constexpr bool has(std::uint64_t id) const { return find(id) >= 0; }
  /// The axes that split some dimension.
  [[nodiscard]] constexpr axis_mask split_axes() const {
    axis_mask m = 0;
    for (int d = 0; d < ndim; ++d)
      if (dim[d].split.size > 0) m |= dim[d].split.mask();
    return m;
  }
  /// The extent of a dimension on one rank.
  [[nodiscard]] constexpr std::int64_t local_extent(int d, mesh_shape const& mesh) const {
    dim_state const& state = dim[d];
    if (state.split.size == 0) return state.extent;
    std::int64_t const parts = mesh.size(state.split.mask());
    return state.extent % parts == 0 ? state.extent / parts : extent_within(d, state.split.size, mesh);
  }
  /// What the i-th axis of a dimension's split does to it.
  [[nodiscard]] constexpr axis_share share(int d, int i, mesh_shape const& mesh) const {
    int const axis = dim[d].split[i];
    std::int64_t const of = extent_within(d, i, mesh);
    std::int64_t left = mesh.extent[axis];
    if (of % left == 0) return {left, 1};
    for (int e = 0; e < d; ++e)
      for (int k = 0; k < dim[e].split.size; ++k)
        if (dim[e].split[k] == axis) left /= share(e, k, mesh).parts;
    std::int64_t parts = left, rest = of % parts;
    while (rest != 0) {
      std::int64_t const next = parts % rest;
      parts = rest;
      rest = next;
    }
    return {parts, left / parts};
  }
  /// The number of elements on one rank.
  [[nodiscard]] constexpr std::int64_t local_size(mesh_shape const& mesh) const {
    std::int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= local_extent(d, mesh);
    return n;
  }
  /// The number of elements of the global tensor, without pads.
  [[nodiscard]] constexpr std::int64_t global_size() const {
    std::int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= dim[d].logical();
    return n;
  }
  /// The stride of a dimension in the rank's dense, row-major shard.
  [[nodiscard]] constexpr std::int64_t local_stride(int d, mesh_shape const& mesh) const {
    std::int64_t n = 1;
    for (int e = d + 1; e < ndim; ++e) n *= local_extent(e, mesh);
    return n;
  }
  /// The stride of a dimension in the global tensor, dense and row-major, without pads.
  [[nodiscard]] constexpr std::int64_t global_stride(int d) const {
    std::int64_t n = 1;
    for (int e = d + 1; e < ndim; ++e) n *= dim[e].logical();
    return n;
  }
  /// The extent of dimension d that its first n axes leave.
  [[nodiscard]] constexpr std::int64_t extent_within(int d, int n, mesh_shape const& mesh) const {
    std::int64_t left = dim[d].extent;
    for (int i = 0; i < n; ++i) left /= share(d, i, mesh).parts;
    return left;
  }
  constexpr bool operator==(sharding const& o) const {
    if (ndim != o.ndim || partial != o.partial) return false;
    for (int d = 0; d < ndim; ++d)
      if (!(dim[d] == o.dim[d])) return false;
    return true;
  }
};

}  // namespace mtf
