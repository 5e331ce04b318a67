#pragma once
// Where the shards of a tensor are, and the loops over them: from a sharding to descriptions of local work.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/work.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf::detail {

/// The axes that split several dimensions of a tensor: an optimizer's state.
constexpr axis_mask shared_axes(sharding const& s) {
  axis_mask seen = 0, shared = 0;
  for (int d = 0; d < s.ndim; ++d) {
    if (s[d].split.size == 0) continue;
    axis_mask const here = s[d].split.mask();
    shared |= seen & here;
    seen |= here;
  }
  return shared;
}

/// The sharding without splits from the first on, in each dimension, that is by an axis which splits several.
constexpr sharding without_shared_axes(sharding s) {
  axis_mask const shared = shared_axes(s);
  for (int d = 0; d < s.ndim; ++d)
    for (int i = 0; i < s[d].split.size; ++i)
      if ((shared >> static_cast<unsigned>(s[d].split[i])) & 1U)
        while (s[d].split.size > i) s[d].split.pop();
  return s;
}

/// The sharding with some dimensions split over these axes too, inside the splits that they have: the first dimension
/// that all of the axes divide, or else for each axis the first that it divides; or if there is none, all of which it
/// has a divisor in common, until all its ranks have parts (sharding::share). `whole`: an axis does not divide the
/// shard, or too many dimensions would be split for messages to be packed by one loop nest.
struct further_splits {
  sharding out;
  bool whole = false;
  int first = 0;    // the first dimension that is split further
  bool one = true;  // and the only one
};
/// Splits by one axis the dimensions with which it has a divisor in common. False: it does not divide their product.
constexpr bool split_several(further_splits& f, int axis, mesh_shape const& mesh) {
  index left = mesh.extent[axis];
  for (int d = 0; d < f.out.ndim && left > 1; ++d) {
    auto& split = f.out[d].split;
    split.push(axis);
    index const parts = f.out.share(d, split.size - 1, mesh).parts;
    if (parts == 1) split.pop();
    if (parts > 1 && d < f.first) f.first = d;
    left /= parts;
  }
  return left == 1;
}
/// Can one loop nest copy the parts of a shard to a message? It has a loop for each further split, one for each
/// dimension that has some, and one for all that is outside.
constexpr bool packs_by_one_copy(sharding const& shard, sharding const& part) {
  int loops = 1;
  for (int d = 0; d < shard.ndim; ++d)
    if (int const more = part[d].split.size - shard[d].split.size; more > 0) loops += more + 1;
  return loops <= max_dims;
}
constexpr further_splits split_further_where_it_divides(sharding const& s, axis_mask axes, mesh_shape const& mesh) {
  further_splits f{s};
  auto const split = [&](int d, axis_mask over) {
    for (int a = 0; a < mesh.ndim; ++a)
      if ((over >> static_cast<unsigned>(a)) & 1U) f.out[d].split.push(a);
  };
  auto const divided = [&](axis_mask over) {
    for (int d = 0; d < s.ndim; ++d)
      if (f.out.local_extent(d, mesh) % mesh.size(over) == 0) return d;
    return -1;
  };
  if (int const d = divided(axes); d >= 0) {
    split(d, axes);
    f.first = d;
    return f;
  }
  f.first = s.ndim;
  f.one = false;
  for (int a = 0; a < mesh.ndim; ++a) {
    auto const over = axis_mask{1} << static_cast<unsigned>(a);
    if ((axes & over) == 0) continue;
    int const d = divided(over);
    if (d >= 0) {
      split(d, over);
      if (d < f.first) f.first = d;
    } else if (!split_several(f, a, mesh)) {
      return {s, true};
    }
  }
  if (!packs_by_one_copy(s, f.out)) return {s, true};
  return f;
}
/// The sharding that is split further over `axes`, which divide it.
constexpr sharding split_further(sharding const& s, axis_mask axes, mesh_shape const& mesh) {
  return axes == 0 ? s : split_further_where_it_divides(s, axes, mesh).out;
}
/// Does a former shard then consist of the parts of the ranks along `axes`, contiguous and in order? So messages need
/// no packing, and a part is where part_offset says.
constexpr bool has_contiguous_parts(sharding const& s, axis_mask axes, mesh_shape const& mesh) {
  if (axes == 0) return true;
  auto const f = split_further_where_it_divides(s, axes, mesh);
  index before = 1;
  for (int d = 0; d < f.first; ++d) before *= s.local_extent(d, mesh);
  return f.one && before == 1;
}
/// Where this rank's part begins in that shard.
constexpr index part_offset(sharding const& s, axis_mask axes, mesh_shape const& mesh, int rank) {
  return mesh.index_within(rank, axes) * (s.local_size(mesh) / mesh.size(axes));
}

/// Have both the same dimensions, in any order?
constexpr bool same_dims(sharding const& a, sharding const& b) {
  bool same = a.ndim == b.ndim;
  for (int d = 0; d < a.ndim; ++d) same = same && b.has(a[d].id);
  return same;
}

/// The axes that split those dimensions of `all` that x lacks: along them the ranks hold the same x for different work.
constexpr axis_mask axes_of_others(sharding const& x, sharding const& all) {
  axis_mask m = 0;
  for (int d = 0; d < all.ndim; ++d)
    if (!x.has(all[d].id)) m |= all[d].split.mask();
  return m;
}

/// The position of a rank's shard along dimension d, in elements.
constexpr index shard_offset(sharding const& s, int d, mesh_shape const& mesh, int of_rank) {
  index at = 0;
  auto const& split = s[d].split;
  for (int i = 0; i < split.size; ++i) {
    axis_share const share = s.share(d, i, mesh);
    at = at * share.parts + share.part_at(mesh.coordinate(of_rank, split[i]));
  }
  return at * s.local_extent(d, mesh);
}

/// How many positions of dimension d a rank's shard has, without pads.
constexpr index logical_extent(sharding const& s, int d, mesh_shape const& mesh, int of_rank) {
  index const n = s.local_extent(d, mesh);
  if (s[d].pad == 0) return n;
  index const left = s[d].logical() - shard_offset(s, d, mesh, of_rank);
  return left < 0 ? 0 : left < n ? left : n;
}
/// Whether a rank's shard has pads.
constexpr bool has_pads(sharding const& s, mesh_shape const& mesh, int of_rank) {
  if (!s.padded) return false;
  for (int d = 0; d < s.ndim; ++d)
    if (logical_extent(s, d, mesh, of_rank) != s.local_extent(d, mesh)) return true;
  return false;
}

/// Where the rank's shard is in the global tensor. Of pads it says nothing that means something.
constexpr placement placement_of(sharding const& s, mesh_shape const& mesh, int of_rank) {
  placement p;
  p.local.ndim = s.ndim;
  for (int d = 0; d < s.ndim; ++d) {
    p.local.extent[static_cast<std::size_t>(d)] = s.local_extent(d, mesh);
    p.local.stride[0][static_cast<std::size_t>(d)] = s.global_stride(d);
    p.offset += shard_offset(s, d, mesh, of_rank) * s.global_stride(d);
  }
  p.local = collapsed(p.local);
  return p;
}

/// The elements of a rank's shard that are no pads: where they are in the shard, and in the global tensor.
struct owned_elements {
  loops<2> where;    // strides in the global tensor, in the shard
  index offset = 0;  // in the global tensor
  index count = 1;
};
constexpr owned_elements owned_elements_of(sharding const& s, mesh_shape const& mesh, int of_rank) {
  owned_elements o;
  o.where.ndim = s.ndim;
  for (int d = 0; d < s.ndim; ++d) {
    auto const at = static_cast<std::size_t>(d);
    o.where.extent[at] = logical_extent(s, d, mesh, of_rank);
    o.where.stride[0][at] = s.global_stride(d);
    o.where.stride[1][at] = s.local_stride(d, mesh);
    o.offset += shard_offset(s, d, mesh, of_rank) * s.global_stride(d);
    o.count *= o.where.extent[at];
  }
  if (o.count > 0) o.where = collapsed(o.where);
  return o;
}

/// The shard as rows along dimension d.
constexpr rows rows_along(sharding const& s, int d, mesh_shape const& mesh) {
  rows r;
  for (int e = 0; e < s.ndim; ++e) {
    auto& part = e < d ? r.outer : e == d ? r.n : r.inner;
    part *= s.local_extent(e, mesh);
  }
  return r;
}

/// The same on a rank: without the pads of that dimension.
constexpr rows rows_without_pads(rows r, sharding const& s, int d, mesh_shape const& mesh, int of_rank) {
  if (s[d].pad == 0) return r;
  r.stored = r.n;
  r.n = logical_extent(s, d, mesh, of_rank);
  return r;
}

/// A loop nest over the shard of `out`, with operands (out, in...); each advances along the dimensions that it has.
/// `of_rank`: without the pads that the rank has; below 0: with pads.
template <int N>
constexpr loops<1 + N> aligned(mesh_shape const& mesh, sharding const& out, std::array<sharding, N> const& in,
                               int of_rank = -1) {
  loops<1 + N> l;
  l.ndim = out.ndim;
  for (int d = 0; d < out.ndim; ++d) {
    auto const at = static_cast<std::size_t>(d);
    l.extent[at] = of_rank < 0 ? out.local_extent(d, mesh) : logical_extent(out, d, mesh, of_rank);
    l.stride[0][at] = out.local_stride(d, mesh);
    for (std::size_t o = 0; o < static_cast<std::size_t>(N); ++o)
      if (int const e = in[o].find(out[d].id); e >= 0) l.stride[1 + o][at] = in[o].local_stride(e, mesh);
  }
  return collapsed(l);
}

/// The reduction of a shard of `in` to the dimensions that `out` has. `of_rank` as for `aligned`.
constexpr reduction reduction_to(mesh_shape const& mesh, sharding const& out, sharding const& in, int of_rank = -1) {
  reduction r;
  for (int d = 0; d < in.ndim; ++d) {
    int const e = out.find(in[d].id);
    auto const extent = of_rank < 0 || e >= 0 ? in.local_extent(d, mesh) : logical_extent(in, d, mesh, of_rank);
    auto const stride = in.local_stride(d, mesh);
    if (e < 0) {
      auto const at = static_cast<std::size_t>(r.reduced.ndim++);
      r.reduced.extent[at] = extent;
      r.reduced.stride[0][at] = stride;
    } else {
      auto const at = static_cast<std::size_t>(r.kept.ndim++);
      r.kept.extent[at] = extent;
      r.kept.stride[0][at] = out.local_stride(e, mesh);
      r.kept.stride[1][at] = stride;
    }
  }
  r.kept = collapsed(r.kept);
  r.reduced = collapsed(r.reduced);
  return r;
}

/// The sharding without the dimensions of the first `count` ids; if count is 0, without any dimensions.
template <std::size_t N>
constexpr sharding without(sharding const& s, std::array<std::uint64_t, N> const& ids, std::size_t count) {
  sharding out;
  for (int d = 0; d < s.ndim; ++d) {
    bool gone = count == 0;
    for (std::size_t i = 0; i < count; ++i) gone = gone || ids[i] == s[d].id;
    if (!gone) out.push(s[d]);
  }
  out.partial = s.partial;
  return out;
}

}  // namespace mtf::detail
