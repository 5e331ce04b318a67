#pragma once
// Tensors like another one: of its dimensions, elements and layout, and of its extents where these are values.
#include <mtf/backend/primitives/random.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/ops/create/iota.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/ops/movement/complete.hpp>

namespace mtf {

namespace detail {

/// The place of a tensor like x that is not partial.
template <class X>
constexpr auto place_like([[maybe_unused]] X const& x) {
  using whole =
      typename reshaped<typename X::description, typename X::shape_type, 0>::template on<typename X::backend_type>;
  if constexpr (by_value<X>)
    return tensor_place<whole>(*derived_for<complete_call>(nullptr, x).out);
  else
    return tensor_place<whole>();
}

struct full_like_call {
  double number;

  template <class X>
  static auto verdict() -> ok;
  template <class X>
  constexpr auto operator()(X const& x) const {
    check_holds<typename X::element_type>(number);
    return filled(x.backend(), place_like(x), number);
  }
};
struct uniform_like_call {
  random_key key;
  double low, high;

  template <class X>
  static auto verdict() -> floating_t<X>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    return drawn<primitives::random_uniform>(x.backend(), place_like(x), key, low, high);
  }
};
template <class D>
struct iota_like_call {
  template <class X>
  static auto verdict() -> named_dims_t<typename X::shape_type, D>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    return positions<D>(x.backend(), place_like(x));
  }
};

}  // namespace detail

/// A tensor like x of which every element is `number`, as `full` makes it. It is a constant, and not partial.
template <operand X>
constexpr auto full_like(X const& x, double number) {
  return detail::operate(detail::full_like_call{number}, x);
}
/// A tensor like x of which every element is 0.
template <operand X>
constexpr auto zeros_like(X const& x) {
  return full_like(x, 0);
}
/// A tensor like x of which every element is 1.
template <operand X>
constexpr auto ones_like(X const& x) {
  return full_like(x, 1);
}
/// Uniform in [low, high), as a tensor like x of floating elements: as `random_uniform` makes it.
template <operand X>
constexpr auto random_uniform_like(X const& x, random_key key, double low = 0, double high = 1) {
  return detail::operate(detail::uniform_like_call{key, low, high}, x);
}
/// The position along Dim, as a tensor like x. Refused: a dimension that x lacks.
template <dimension Dim, operand X>
constexpr auto iota(X const& x) {
  return detail::operate(detail::iota_like_call<Dim>{}, x);
}

}  // namespace mtf
