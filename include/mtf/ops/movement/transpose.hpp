#pragma once
// The same tensor in another order of its dimensions.
#include <cstddef>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

/// Copies the shard into another order, and the gradient back.
template <class T>
struct transpose_operation {
  operation_work<1> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "transpose"; }

  constexpr void forward(auto& f) const {
    f.run(primitives::copy<T, T>{aligned<1>(f.mesh(), work->out, {work->in[0]}), f.y(), f.x()});
  }
  constexpr void backward(auto& g) const {
    g.run(primitives::copy<T, T>{aligned<1>(g.mesh(), work->in[0], {work->out}), g.dx(), g.dy()});
  }
};

template <class... D>
struct transpose_call {
  using order = shape<D...>;
  template <class X>
  static auto verdict() -> first_failed_t<
      shape_verdict_t<D...>, named_dims_t<typename X::shape_type, D...>,
      std::conditional_t<sizeof...(D) == X::shape_type::ndim, ok, error_shapes_differ<typename X::shape_type, order>>>;

  static constexpr bool takes_pads = true;
  static constexpr operation_work<1> derive(mesh_shape const&, sharding const& x) {
    operation_work<1> w;
    w.in = {x};
    (w.out.push(x[x.find(D::id)]), ...);
    w.out.partial = x.partial;
    return w;
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using described = typename X::description;
    if constexpr (std::is_same_v<order, typename X::shape_type>)
      return x;
    else
      return run_as<reshaped<described, order>, transpose_call>(transpose_operation<typename X::element_type>{}, x);
  }
};

}  // namespace detail

/// The same tensor with its dimensions stored in the order given: a local copy each way, none if that is their order
/// already. A partial tensor stays partial. Refused: other dimensions than x has.
template <dimension... Dims, operand X>
constexpr auto transpose(X const& x) {
  return detail::operate(detail::transpose_call<Dims...>{}, x);
}

namespace detail {

/// The verdict on a tensor that is to have these dimensions, in any order: that on its transposition.
template <class X, class... D>
auto dims_verdict(shape<D...> const*) {
  return decltype(transpose_call<D...>::template verdict<X>()){};
}

/// `transpose` to the order of a shape, given as a null pointer to its type.
template <class... D>
constexpr auto transposed(shape<D...> const*, auto const& x) {
  return transpose<D...>(x);
}

}  // namespace detail

}  // namespace mtf
