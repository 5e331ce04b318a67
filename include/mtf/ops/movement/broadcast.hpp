#pragma once
// The same tensor along more dimensions.
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>

namespace mtf {

namespace detail {

/// What one rank does for a broadcast.
struct broadcast_work {
  sharding in, out;
  axis_mask complete = 0;     // sums to take before
  axis_mask spread_over = 0;  // axes that cut the new dimensions: there the operand's gradient becomes partial
  loops<2> spread;            // in -> out
  reduction back;             // out -> in, backward
};

/// The sharding of a broadcast to Shape: the operand's cuts, and the layout's for the new dimensions.
template <class X, class Shape>
struct broadcast_rule {
  static constexpr broadcast_work make() {
    broadcast_work w;
    w.in = X::spec;
    w.out = sharding_of<Shape, typename X::layout_type>;
    w.out.partial = w.in.partial & ~w.out.cut_axes();
    w.complete = w.in.partial & w.out.cut_axes();
    w.spread = aligned<1>(X::mesh, w.out, {w.in});
    w.back = reduction_to(X::mesh, w.in, w.out);
    for (int d = 0; d < w.out.rank; ++d)
      if (!w.in.has(w.out[d].id)) w.spread_over |= w.out[d].cut.mask();
    return w;
  }
  static constexpr broadcast_work work = make();
};

/// Backward of a broadcast: a sum over the new dimensions, partial where they are cut.
template <class Backend, class T>
class broadcast_node {
 public:
  constexpr broadcast_node(broadcast_work const& w, ref<gradient_slot<Backend, T>> const& in,
                           ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), in_(in), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "broadcast", w_->out);
    auto const g = out_->take();
    if (!g.memory) return;
    auto dx = make_buffer<T>(b, w_->in.local_size(b.ranks().mesh()));
    b.run(primitives::reduce<T>{combine::sum, w_->back, data_of<T>(dx), data_of<T>(g.memory)});
    in_->add({std::move(dx), g.partial | w_->spread_over});
  }

 private:
  broadcast_work const* w_;
  ref<gradient_slot<Backend, T>> in_, out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_broadcast(broadcast_work const& w, value<Backend, T> const& operand) {
  Backend& b = operand.backend();
  operation<Backend> const here(b, "broadcast", w.out);
  auto const x = completed_value(operand, w.in, w.complete);
  auto out = make_value<T>(b, w.out.local_size(b.ranks().mesh()));
  b.run(primitives::copy<T, T>{w.spread, out.data(), x.data()});
  if constexpr (is_floating<T>)
    record(tape_of(x), out, w.out, [&](auto const& slot) { return broadcast_node<Backend, T>(w, x.slot, slot); });
  return out;
}

template <class X, class S>
struct has_all;
template <class X, class... D>
struct has_all<X, shape<D...>> : named_dims<X, D...> {};

}  // namespace detail

/// The tensor repeated along the dimensions that it lacks, in the order given: how an outer product is asked for by
/// name. New dimensions are cut as the tensor's layout says; nothing is sent. Refused: a shape that lacks one of its
/// dimensions.
template <dimension... Dims, operand X>
constexpr auto broadcast(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using to = shape<Dims...>;
    using verdict =
        detail::first_failed_t<shape_verdict_t<Dims...>, typename detail::has_all<to, typename X::shape_type>::type,
                               tensor_verdict_t<to, typename X::layout_type>>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return refused{};
    } else {
      using rule = detail::broadcast_rule<typename X::description, to>;
      using out = tensor<typename X::element_type, to, typename X::layout_type,
                         detail::partial_of<typename X::mesh_type, rule::work.out.partial>, typename X::backend_type>;
      return out(detail::run_broadcast(rule::work, x.value()));
    }
  }
}

}  // namespace mtf
