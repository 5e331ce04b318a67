#pragma once
// Carries out derived steps on a shard.
#include <cstddef>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/message.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/sharding/steps.hpp>

namespace mtf::detail {

/// A shard packed into a message, or unpacked from one, by `copy`; the same memory if that changes nothing.
template <class T, class Backend>
constexpr buffer<Backend> rearranged(Backend& b, loops<2> const& copy, buffer<Backend> const& from, index elements,
                                     index offset = 0) {
  if (is_identity(copy, elements)) return from;
  auto out = make_buffer<T>(b, copy.size());
  b.run(primitives::copy<T, T>{copy, data_of<T>(out), data_of<T>(from, offset)});
  return out;
}

/// The shard after a step, from that before it. `before`: the sharding before the step.
template <class T, class Backend>
constexpr buffer<Backend> execute(Backend& b, step const& s, sharding const& before, buffer<Backend> const& from) {
  mesh_shape const& mesh = b.ranks().mesh();
  int const rank = b.ranks().rank();
  sharding const block = block_of(before, s.after);
  auto const packed = [&](axis_mask axes) {
    return rearranged<T>(b, block_copy(mesh, axes, before, block, true), from, s.elements_in,
                         pack_offset(mesh, axes, before, block, rank));
  };
  auto const unpacked = [&](buffer<Backend> const& arrived) {
    return rearranged<T>(b, block_copy(mesh, s.axes, s.after, block, false), arrived, s.elements_out);
  };
  if (s.kind == step_kind::slice) return packed(0);

  T const* in = data_of<T>(from);
  auto out = make_buffer<T>(b, s.elements_out);
  T* to = data_of<T>(out);
  auto const count = static_cast<std::size_t>(s.elements_in), arrives = static_cast<std::size_t>(s.elements_out);
  switch (s.kind) {
    case step_kind::slice:
      break;
    case step_kind::all_reduce:
      b.communicate(collective::all_reduce(s.axes, combine::sum, element_of<T>, count), in, to);
      break;
    case step_kind::reduce_scatter: {
      auto const message = packed(s.axes);
      b.communicate(collective::reduce_scatter(s.axes, element_of<T>, arrives), data_of<T>(message), to);
      break;
    }
    case step_kind::all_gather:
      b.communicate(collective::all_gather(s.axes, element_of<T>, count), in, to);
      return unpacked(out);
    case step_kind::all_to_all: {
      auto const message = packed(s.axes);
      b.communicate(collective::all_to_all(s.axes, element_of<T>, arrives / static_cast<std::size_t>(s.parts)),
                    data_of<T>(message), to);
      return unpacked(out);
    }
    case step_kind::permute:
      b.communicate(collective::permute(s.axes, element_of<T>, count, counterpart(mesh, s.axes, before, s.after, rank),
                                        counterpart(mesh, s.axes, s.after, before, rank)),
                    in, to);
      break;
    case step_kind::scattered_all_reduce: {
      auto const share = static_cast<std::size_t>(s.elements_in / mesh.size(s.inner_axes));
      auto part = make_buffer<T>(b, static_cast<index>(share));
      T* p = data_of<T>(part);
      b.communicate(collective::reduce_scatter(s.inner_axes, element_of<T>, share), in, p);
      b.communicate(collective::all_reduce(s.axes, combine::sum, element_of<T>, share), p, p);
      b.communicate(collective::all_gather(s.inner_axes, element_of<T>, share), p, to);
      break;
    }
  }
  return out;
}

template <class T, class Backend>
constexpr buffer<Backend> execute(Backend& b, steps const& all, buffer<Backend> const& from) {
  auto now = from;
  for (int i = 0; i < all.size; ++i) now = execute<T>(b, all[i], all.before(i), now);
  return now;
}

/// This rank's part along these axes (split_further) of x, of sharding `s`: a part of its memory where that is
/// contiguous, else a copy.
template <class T, class Backend>
constexpr buffer<Backend> own_part(Backend& b, sharding const& s, axis_mask split, buffer<Backend> const& x) {
  if (split == 0) return x;
  mesh_shape const& mesh = b.ranks().mesh();
  if (has_contiguous_parts(s, split, mesh)) return part_of<T>(x, part_offset(s, split, mesh, b.ranks().rank()));
  return execute<T>(b, derive_relayout(mesh, s, split_further(s, split, mesh)), x);
}

/// x, of sharding `s`, reduced over `axes`. A sum that is known already is returned, else it is computed and remembered
/// with x. With `split`, only this rank's part of it along these axes (split_further): a reduce-scatter if the sum is
/// not known, else a part of its memory.
template <class T, class Backend>
constexpr buffer<Backend> completed(sharding const& s, axis_mask axes, buffer<Backend> const& x, axis_mask split = 0,
                                    operation_label const& by = {}) {
  Backend& b = *x->backend;
  mesh_shape const& mesh = b.ranks().mesh();
  auto const remember = [&](buffer<Backend> const& sum, axis_mask known_split) {
    b.made(static_cast<T const*>(data_of<T>(sum)), split_further(s, known_split, mesh));
    x->sum.is(axes, sum, known_split);
  };
  if (axes != 0 && !x->sum.is_over(axes)) {
    operation<Backend> const of(b, by, s);
    remember(execute<T>(b, derive_completion(mesh, s, axes, split), x), split);
  } else if (axes != 0 && x->sum.split() != 0 && x->sum.split() != split) {
    operation<Backend> const of(b, by, s);
    remember(execute<T>(b, derive_relayout(mesh, split_further(s, x->sum.split(), mesh), s), x->sum.memory(x)), 0);
  }
  auto known = x;
  if (axes != 0) known = x->sum.memory(x);
  if (split == 0 || (axes != 0 && x->sum.split() == split)) return known;
  return own_part<T>(b, s, split, known);
}

}  // namespace mtf::detail
