#pragma once
// What attention of split sequences derives from how they are split.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/work.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf::detail {

/// Loops over some of a rank's queries, from the first of them on.
struct ring_rows {
  index queries = 0;
  loops<5> merging;  // operands (the result, it again, a part of it, two numbers a query)
  loops<4> terms;    // the same without the part
  loops<2> of_rows;  // operands (one number a query: in attention's order, in that of q)
  loops<3> of_q;     // operands (as q lies)
  loops<2> of_out;   // operands (as the result lies)
};

template <class Whole>
struct ring_work : Whole {        // its shape: that of one rank's keys
  int query = 0, key = 0;         // dimensions of q and k
  axis_list ring{};               // axes round which keys and values go: they split what the queries have
  axis_mask merged = 0;           // axes that split the keys alone
  ring_rows all, half;            // of half: 0 queries, if they cannot be halved
  loops<2> packed_q, packed_out;  // half of the rows; operands (one after the other, as they lie)
};

/// Loops over the first `rows` of a dimension of a shard.
template <int Operands>
constexpr loops<Operands> first_rows(mesh_shape const& mesh, sharding const& x, int dim, index rows) {
  index const inner = x.local_stride(dim, mesh), stored = inner * x.local_extent(dim, mesh);
  loops<Operands> l{.ndim = 2, .extent = {x.local_size(mesh) / stored, rows * inner}, .stride = {}};
  for (auto& stride : l.stride) stride[0] = stored, stride[1] = 1;
  return l;
}

template <class Shape>
constexpr ring_rows rows_of_ring(mesh_shape const& mesh, sharding const& q, sharding const& out, int query,
                                 Shape const& s, index queries) {
  ring_rows r;
  r.queries = queries;
  auto& l = r.merging;
  auto const push = [&](index extent, index in_q, index in_rows) {
    auto const at = static_cast<std::size_t>(l.ndim++);
    l.extent[at] = extent;
    for (std::size_t o = 0; o < 5; ++o) l.stride[o][at] = o < 3 ? in_q : in_rows;
  };
  index dense = queries * s.batch.size();
  for (int d = 0; d < s.batch.ndim; ++d) {
    auto const at = static_cast<std::size_t>(d);
    push(s.batch.extent[at], s.batch.stride[of_out][at], dense /= s.batch.extent[at]);
  }
  push(queries, s.out_row, 1);
  r.of_rows = {.ndim = l.ndim, .extent = l.extent, .stride = {l.stride[3], l.stride[0]}};
  for (auto& stride : r.of_rows.stride[1]) stride /= s.values;
  r.of_rows = collapsed(r.of_rows);
  push(s.values, 1, 0);
  l = collapsed(l);
  r.terms = {.ndim = l.ndim, .extent = l.extent, .stride = {l.stride[0], l.stride[1], l.stride[3], l.stride[4]}};
  r.of_q = collapsed(first_rows<3>(mesh, q, query, queries));
  r.of_out = collapsed(first_rows<2>(mesh, out, query, queries));
  return r;
}

template <class Whole>
constexpr ring_work<Whole> derive_ring(mesh_shape const& mesh, std::uint64_t query, std::uint64_t key,
                                       Whole const& of) {
  ring_work<Whole> w;
  static_cast<Whole&>(w) = of;
  auto const &q = w.in[0], &k = w.in[1];
  w.query = q.find(query);
  w.key = k.find(key);
  auto const &of_keys = k[w.key].split, &of_queries = q[w.query].split;
  for (int i = 0; i < of_keys.size; ++i)
    if (int const axis = of_keys[i]; (q.split_axes() >> static_cast<unsigned>(axis) & 1U) != 0) w.ring.push(axis);
  w.merged = of_keys.mask() & ~q.split_axes();
  w.out.partial = w.merged;
  w.gradient_may_be_partial &= ~of_keys.mask();
  w.gradient_sums[0] = w.merged;
  for (std::size_t i = 1; i < 3; ++i) w.gradient_sums[i] &= ~of_keys.mask();
  auto& s = w.shape;
  s.queries = q.local_extent(w.query, mesh);
  w.all = rows_of_ring(mesh, q, w.out, w.query, s, s.queries);
  if (of_keys == of_queries && s.queries % 2 == 0 && q[w.query].pad == 0) {
    w.half = rows_of_ring(mesh, q, w.out, w.query, s, s.queries / 2);
    auto const packed = [&](sharding const& x) {
      auto l = first_rows<2>(mesh, x, w.query, w.half.queries);
      l.stride[0][0] = l.extent[1];
      return collapsed(l);
    };
    w.packed_q = packed(q);
    w.packed_out = packed(w.out);
  }
  return w;
}

/// Of a length, what is left of it from a position on.
struct ring_left {
  std::int32_t begin;
  template <class I>
  MTF_FUNCTION constexpr I operator()(I length) const {
    return length < begin ? I(0) : length - begin;
  }
};

}  // namespace mtf::detail
