#pragma once
// How a tensor lies on a mesh, as a value: its dimensions, the axes that cut each, the axes over which it is partial.
// All rules are constexpr functions over these values; there is no second copy of a rule (docs/design.md, 5).
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/collectives.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::detail {

/// The axes that cut one dimension, outermost first, as positions in the mesh.
struct axis_list {
  int size = 0;
  std::array<std::uint8_t, mesh_shape::max_axes> at{};

  constexpr void push(int axis) { at[static_cast<std::size_t>(size++)] = static_cast<std::uint8_t>(axis); }
  constexpr void pop() { at[static_cast<std::size_t>(--size)] = 0; }
  [[nodiscard]] constexpr int operator[](int i) const { return at[static_cast<std::size_t>(i)]; }
  [[nodiscard]] constexpr int last() const { return at[static_cast<std::size_t>(size - 1)]; }
  [[nodiscard]] constexpr axis_mask mask() const {
    axis_mask m = 0;
    for (int i = 0; i < size; ++i) m |= 1U << static_cast<unsigned>((*this)[i]);
    return m;
  }
  /// The first `size` axes are those of `other`.
  [[nodiscard]] constexpr bool prefix_of(axis_list const& other) const {
    for (int i = 0; i < size; ++i)
      if (i >= other.size || (*this)[i] != other[i]) return false;
    return true;
  }
  bool operator==(axis_list const&) const = default;
};

struct dim_state {
  std::uint64_t id = 0;
  index extent = 1;  // global
  axis_list cut;
  char const* name = "";  // for people to read
  constexpr bool operator==(dim_state const& o) const { return id == o.id && extent == o.extent && cut == o.cut; }
};

struct sharding {
  int rank = 0;
  std::array<dim_state, max_rank> dim{};
  axis_mask partial = 0;

  [[nodiscard]] constexpr dim_state const& operator[](int d) const { return dim[static_cast<std::size_t>(d)]; }
  [[nodiscard]] constexpr dim_state& operator[](int d) { return dim[static_cast<std::size_t>(d)]; }
  constexpr void push(dim_state const& d) { dim[static_cast<std::size_t>(rank++)] = d; }
  [[nodiscard]] constexpr int find(std::uint64_t id) const {
    for (int d = 0; d < rank; ++d)
      if ((*this)[d].id == id) return d;
    return -1;
  }
  [[nodiscard]] constexpr bool has(std::uint64_t id) const { return find(id) >= 0; }
  /// The axes that cut some dimension.
  [[nodiscard]] constexpr axis_mask cut_axes() const {
    axis_mask m = 0;
    for (int d = 0; d < rank; ++d) m |= (*this)[d].cut.mask();
    return m;
  }
  /// The extent of a dimension on one rank.
  [[nodiscard]] constexpr index local_extent(int d, mesh_shape const& mesh) const {
    return (*this)[d].extent / mesh.size((*this)[d].cut.mask());
  }
  [[nodiscard]] constexpr index local_size(mesh_shape const& mesh) const {
    index n = 1;
    for (int d = 0; d < rank; ++d) n *= local_extent(d, mesh);
    return n;
  }
  [[nodiscard]] constexpr index global_size() const {
    index n = 1;
    for (int d = 0; d < rank; ++d) n *= (*this)[d].extent;
    return n;
  }
  /// The stride of a dimension in the rank's dense, row-major shard.
  [[nodiscard]] constexpr index local_stride(int d, mesh_shape const& mesh) const {
    index n = 1;
    for (int e = d + 1; e < rank; ++e) n *= local_extent(e, mesh);
    return n;
  }
  [[nodiscard]] constexpr index global_stride(int d) const {
    index n = 1;
    for (int e = d + 1; e < rank; ++e) n *= (*this)[e].extent;
    return n;
  }
  bool operator==(sharding const&) const = default;
};

/// The same tensor with its first dimension cut over these axes too, the innermost. Ranks that differ along them alone,
/// in order, hold equal parts of what was a shard, one after the other: nothing need be packed to put them together.
constexpr sharding cut_further(sharding s, axis_mask axes, mesh_shape const& mesh) {
  for (int a = 0; a < mesh.rank; ++a)
    if ((axes >> static_cast<unsigned>(a)) & 1U) s[0].cut.push(a);
  return s;
}
/// Where this rank's part begins in that shard.
constexpr index part_offset(sharding const& s, axis_mask axes, mesh_shape const& mesh, int rank) {
  return mesh.index_within(rank, axes) * (s.local_size(mesh) / mesh.size(axes));
}

/// In whatever order.
constexpr bool same_dims(sharding const& a, sharding const& b) {
  bool same = a.rank == b.rank;
  for (int d = 0; d < a.rank; ++d) same = same && b.has(a[d].id);
  return same;
}

/// The position of a rank's shard along dimension d, in elements.
constexpr index shard_offset(sharding const& s, int d, mesh_shape const& mesh, int of_rank) {
  index at = 0;
  auto const& cut = s[d].cut;
  for (int i = 0; i < cut.size; ++i)
    at = at * mesh.extent[static_cast<std::size_t>(cut[i])] + mesh.coordinate(of_rank, cut[i]);
  return at * s.local_extent(d, mesh);
}

/// Where the rank's shard lies in the global tensor.
constexpr placement placement_of(sharding const& s, mesh_shape const& mesh, int of_rank) {
  placement p;
  p.local.rank = s.rank;
  for (int d = 0; d < s.rank; ++d) {
    p.local.extent[static_cast<std::size_t>(d)] = s.local_extent(d, mesh);
    p.local.stride[0][static_cast<std::size_t>(d)] = s.global_stride(d);
    p.offset += shard_offset(s, d, mesh, of_rank) * s.global_stride(d);
  }
  p.local = collapsed(p.local);
  return p;
}

/// The shard as rows along dimension d.
constexpr rows rows_along(sharding const& s, int d, mesh_shape const& mesh) {
  rows r;
  for (int e = 0; e < s.rank; ++e) {
    auto& part = e < d ? r.outer : e == d ? r.n : r.inner;
    part *= s.local_extent(e, mesh);
  }
  return r;
}

/// A loop nest over the shard of `out`; each operand advances along the dimensions that it has.
template <int N>
constexpr loops<1 + N> aligned(mesh_shape const& mesh, sharding const& out, std::array<sharding, N> const& in) {
  loops<1 + N> l;
  l.rank = out.rank;
  for (int d = 0; d < out.rank; ++d) {
    auto const at = static_cast<std::size_t>(d);
    l.extent[at] = out.local_extent(d, mesh);
    l.stride[0][at] = out.local_stride(d, mesh);
    for (std::size_t o = 0; o < static_cast<std::size_t>(N); ++o)
      if (int const e = in[o].find(out[d].id); e >= 0) l.stride[1 + o][at] = in[o].local_stride(e, mesh);
  }
  return collapsed(l);
}

/// The reduction of a shard of `in` to the dimensions that `out` has.
constexpr reduction reduction_to(mesh_shape const& mesh, sharding const& out, sharding const& in) {
  reduction r;
  for (int d = 0; d < in.rank; ++d) {
    int const e = out.find(in[d].id);
    auto const extent = in.local_extent(d, mesh);
    auto const stride = in.local_stride(d, mesh);
    if (e < 0) {
      auto const at = static_cast<std::size_t>(r.reduced.rank++);
      r.reduced.extent[at] = extent;
      r.reduced.stride[0][at] = stride;
    } else {
      auto const at = static_cast<std::size_t>(r.kept.rank++);
      r.kept.extent[at] = extent;
      r.kept.stride[0][at] = out.local_stride(e, mesh);
      r.kept.stride[1][at] = stride;
    }
  }
  r.kept = collapsed(r.kept);
  r.reduced = collapsed(r.reduced);
  return r;
}

}  // namespace mtf::detail
