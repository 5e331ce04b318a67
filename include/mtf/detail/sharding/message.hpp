#pragma once
// How a shard is packed into a message for a step of a relayout, and unpacked from one: the copies, and for permutes
// the partner.
#include <cstddef>

#include <mtf/backend/work.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/shard.hpp>

namespace mtf::detail {

/// The loop nest of a copy, built from the outermost loop. Two neighbouring loops become one if both sides' strides
/// allow it.
struct copy_loops {
  loops<2> l{.ndim = 1, .extent = {1}, .stride = {extents{1}, extents{1}}};

  constexpr void push(index extent, index to, index from) {
    if (extent == 1) return;
    auto at = static_cast<std::size_t>(l.ndim - 1);
    if (l.extent[at] != 1) {  // not the first
      if (l.stride[0][at] == to * extent && l.stride[1][at] == from * extent)
        extent *= l.extent[at];
      else
        at = static_cast<std::size_t>(l.ndim++);
    }
    l.extent[at] = extent;
    l.stride[0][at] = to;
    l.stride[1][at] = from;
  }
};

/// Does the copy leave all n elements in their order?
constexpr bool is_identity(loops<2> const& l, index n) {
  return l.ndim == 1 && l.stride[0][0] == 1 && l.stride[1][0] == 1 && l.extent[0] == n;
}

/// The sharding of which a rank's shard is one block of a message: split wherever the tensor is split before or after
/// the step. A message has one block for each rank along the step's axes.
constexpr sharding block_of(sharding const& before, sharding const& after) {
  sharding s = before;
  for (int d = 0; d < s.ndim; ++d)
    if (after[d].split.size > s[d].split.size) s[d].split = after[d].split;
  return s;
}

/// Calls f(share, stride) for each dimension of a shard that an axis splits into blocks, outermost first. `stride`: the
/// distance in the shard between a block and the next one.
template <class F>
constexpr void each_split_into_blocks(mesh_shape const& mesh, int axis, sharding const& shard, sharding const& block,
                                      F const& f) {
  for (int d = 0; d < block.ndim; ++d) {
    auto const& split = block[d].split;
    index stride = shard.local_stride(d, mesh) * block.local_extent(d, mesh);
    for (int i = split.size - 1; i >= shard[d].split.size; --i) {
      axis_share const share = block.share(d, i, mesh);
      if (split[i] == axis) f(share, stride);
      stride *= share.parts;
    }
  }
}

/// The copy from a shard, from `pack_offset` on, into a message (`pack`), or from a message into a shard. The message's
/// blocks are dense, in the order of the ranks along `axes`. A slice is a message of one block: `axes` is 0.
constexpr loops<2> block_copy(mesh_shape const& mesh, axis_mask axes, sharding const& shard, sharding const& block,
                              bool pack) {
  copy_loops c;
  auto const push = [&](index extent, index in_message, index in_shard) {
    c.push(extent, pack ? in_message : in_shard, pack ? in_shard : in_message);
  };
  index in_message = block.local_size(mesh) * mesh.size(axes);
  for (int a = 0; a < mesh.ndim; ++a)
    if ((axes >> static_cast<unsigned>(a)) & 1U) {
      index left = mesh.extent[a];
      each_split_into_blocks(mesh, a, shard, block, [&](axis_share const& share, index stride) {
        in_message /= share.parts;
        left /= share.parts;
        push(share.parts, in_message, stride);
      });
      in_message /= left;
      push(left, in_message, 0);
    }
  for (int d = 0; d < block.ndim; ++d)
    push(block.local_extent(d, mesh), block.local_stride(d, mesh), shard.local_stride(d, mesh));
  return c.l;
}
/// Where in the shard the first block of the message is: along axes outside `axes` a rank sends only the blocks at its
/// own coordinate.
constexpr index pack_offset(mesh_shape const& mesh, axis_mask axes, sharding const& shard, sharding const& block,
                            int rank) {
  index at = 0;
  for (int a = 0; a < mesh.ndim; ++a)
    if (((axes >> static_cast<unsigned>(a)) & 1U) == 0)
      each_split_into_blocks(mesh, a, shard, block, [&](axis_share const& share, index stride) {
        at += share.part_at(mesh.coordinate(rank, a)) * stride;
      });
  return at;
}

/// Where the rank's shard begins in the global tensor.
constexpr index shard_begin(sharding const& s, mesh_shape const& mesh, int rank) {
  index at = 0;
  for (int d = 0; d < s.ndim; ++d) at += shard_offset(s, d, mesh, rank) * s.global_stride(d);
  return at;
}
/// The rank of this rank's group along `axes` whose shard under `theirs` is this rank's shard under `mine`. If several
/// ranks have the same shard, the i-th on one side belongs to the i-th on the other.
constexpr int counterpart(mesh_shape const& mesh, axis_mask axes, sharding const& mine, sharding const& theirs,
                          int rank) {
  index const shard = shard_begin(mine, mesh, rank);
  int const group = mesh.group_of(rank, axes);
  int before = 0;
  for (int q = 0; q < rank; ++q)
    if (mesh.group_of(q, axes) == group && shard_begin(mine, mesh, q) == shard) ++before;
  for (int q = 0; q < mesh.size(); ++q)
    if (mesh.group_of(q, axes) == group && shard_begin(theirs, mesh, q) == shard && before-- == 0) return q;
  return rank;  // not reached: a permute brings no shard that its group does not have
}

}  // namespace mtf::detail
