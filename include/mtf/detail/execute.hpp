#pragma once
// Carries out derived steps on a shard.
#include <mtf/detail/operation.hpp>
#include <mtf/detail/relayout_rule.hpp>
#include <mtf/detail/value.hpp>

namespace mtf::detail {

/// A copy between two dense orders of the same elements: loop d has extent[d], and these strides on either side.
template <std::size_t N>
constexpr loops<2> permuted(std::array<index, N> const& extent, std::array<index, N> const& out,
                            std::array<index, N> const& in) {
  loops<2> l;
  l.rank = static_cast<int>(N);
  for (std::size_t d = 0; d < N; ++d) {
    l.extent[d] = extent[d];
    l.stride[0][d] = out[d];
    l.stride[1][d] = in[d];
  }
  return collapsed(l);
}

/// [outer, parts, block] <-> [parts, outer, block]: the order in which collectives want or give the parts.
template <class T, class Backend>
constexpr buffer<Backend> parts_outermost(Backend& b, step const& s, T const* in) {
  auto out = make_buffer<T>(b, s.outer * s.parts * s.block);
  b.copy(permuted<3>({s.parts, s.outer, s.block}, {s.outer * s.block, s.block, 1}, {s.block, s.parts * s.block, 1}),
         data_of<T>(out), in);
  return out;
}
template <class T, class Backend>
constexpr buffer<Backend> parts_inside(Backend& b, step const& s, T const* in) {
  auto out = make_buffer<T>(b, s.outer * s.parts * s.block);
  b.copy(permuted<3>({s.outer, s.parts, s.block}, {s.parts * s.block, s.block, 1}, {s.block, s.outer * s.block, 1}),
         data_of<T>(out), in);
  return out;
}

template <class T, class Backend>
constexpr buffer<Backend> exchange_all(Backend& b, step const& s, T const* in) {
  // The dimension that becomes cut is divided into `parts`, outermost in the message; the one that becomes whole receives
  // one part from each rank.
  auto const p = static_cast<index>(s.parts);
  auto const cut = (s.from_first ? s.b : s.a) / p;
  auto packed = make_buffer<T>(b, s.elements_in);
  auto arrived = make_buffer<T>(b, s.elements_in);
  auto out = make_buffer<T>(b, s.elements_in);
  if (s.from_first) {  // in [outer, A, middle, p, cut, inner] -> message [p, outer, A, middle, cut*inner]
    index const run = cut * s.inner;
    index const row = s.a * s.middle;
    b.copy(permuted<3>({p, s.outer * row, run}, {s.outer * row * run, run, 1}, {run, p * run, 1}), data_of<T>(packed), in);
    b.all_to_all(s.axes, data_of<T>(packed), data_of<T>(arrived), static_cast<std::size_t>(s.elements_in / p));
    // arrived [p, outer, A, middle*cut*inner] -> out [outer, p, A, ...]
    index const inside = row * run;
    b.copy(permuted<3>({s.outer, p, inside}, {p * inside, inside, 1}, {inside, s.outer * inside, 1}), data_of<T>(out),
           data_of<T>(arrived));
  } else {  // in [outer, p, cut, middle, B, inner] -> message [p, outer, cut, middle, B*inner]
    index const inside = cut * s.middle * s.b * s.inner;
    b.copy(permuted<3>({p, s.outer, inside}, {s.outer * inside, inside, 1}, {inside, p * inside, 1}), data_of<T>(packed), in);
    b.all_to_all(s.axes, data_of<T>(packed), data_of<T>(arrived), static_cast<std::size_t>(s.elements_in / p));
    // arrived [p, outer*cut*middle, B*inner] -> out [outer*cut*middle, p, B*inner]
    index const row = s.outer * cut * s.middle, run = s.b * s.inner;
    b.copy(permuted<3>({row, p, run}, {p * run, run, 1}, {run, row * run, 1}), data_of<T>(out), data_of<T>(arrived));
  }
  return out;
}

template <class T, class Backend>
constexpr buffer<Backend> execute(Backend& b, step const& s, buffer<Backend> const& from) {
  T const* in = data_of<T>(from);
  mesh_shape const& mesh = b.ranks().mesh();
  int const rank = b.ranks().rank();
  auto out = make_buffer<T>(b, s.elements_out);
  T* to = data_of<T>(out);
  auto const block = static_cast<std::size_t>(s.block), outer = static_cast<std::size_t>(s.outer);
  switch (s.kind) {
    case step_kind::slice: {
      index const at = mesh.index_within(rank, s.axes) * s.block;
      b.copy(permuted<2>({s.outer, s.block}, {s.block, 1}, {s.parts * s.block, 1}), to,
             static_cast<T const*>(data_of<T>(from, at)));
      break;
    }
    case step_kind::all_reduce:
      b.all_reduce(s.axes, combine::sum, in, to, static_cast<std::size_t>(s.elements_in));
      break;
    case step_kind::reduce_scatter: {
      auto packed = from;
      if (s.outer > 1) packed = parts_outermost<T>(b, s, in);
      b.reduce_scatter(s.axes, data_of<T>(packed), to, outer * block);
      break;
    }
    case step_kind::all_gather: {
      b.all_gather(s.axes, in, to, outer * block);
      if (s.outer > 1) return parts_inside<T>(b, s, to);
      break;
    }
    case step_kind::all_to_all: return exchange_all<T>(b, s, in);
    case step_kind::permute: {
      int partner = 0;  // the rank with the coordinates along the two axes exchanged
      for (int a = 0; a < mesh.rank; ++a) {
        int const from_axis = a == s.axis ? s.other_axis : a == s.other_axis ? s.axis : a;
        partner = partner * mesh.extent[static_cast<std::size_t>(a)] + mesh.coordinate(rank, from_axis);
      }
      b.permute(s.axes, in, to, static_cast<std::size_t>(s.elements_in), partner, partner);
      break;
    }
    case step_kind::scattered_all_reduce: {
      auto const share = static_cast<std::size_t>(s.elements_in / mesh.size(s.inner_axes));
      auto part = make_buffer<T>(b, static_cast<index>(share));
      T* p = data_of<T>(part);
      b.reduce_scatter(s.inner_axes, in, p, share);
      b.all_reduce(s.axes, combine::sum, p, p, share);
      b.all_gather(s.inner_axes, p, to, share);
      break;
    }
  }
  return out;
}

template <class T, class Backend>
constexpr buffer<Backend> execute(Backend& b, steps const& all, buffer<Backend> const& from) {
  auto now = from;
  for (int i = 0; i < all.size; ++i) now = execute<T>(b, all[i], now);
  return now;
}

/// The sum over `axes` of what the ranks hold. `s` tells the cuts.
template <class T, class Backend>
constexpr buffer<Backend> completed(sharding const& s, axis_mask axes, buffer<Backend> const& x) {
  if (axes == 0) return x;
  if (x->completed && x->completed_axes == axes) return x->completed;
  Backend& b = *x->backend;
  operation<Backend> const of(b, s);
  auto out = execute<T>(b, derive_completion(b.ranks().mesh(), s, axes), x);
  x->completed = out;
  x->completed_axes = axes;
  return out;
}

}  // namespace mtf::detail
