#pragma once
// Tensors of one number.
#include <cstdint>
#include <string>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

template <class T>
constexpr bool holds(double number) {
  if constexpr (is_floating<T>) {
    return true;
  } else {
    if (!(number >= -0x1p63 && number < 0x1p63)) return false;
    auto const whole = static_cast<std::int64_t>(number);
    return static_cast<double>(whole) == number && static_cast<std::int64_t>(static_cast<T>(whole)) == whole;
  }
}

template <class T>
constexpr void check_holds(double number) {
  if (!holds<T>(number))
    throw user_error("full: the number is " + std::to_string(number) +
                     ", which an element of an integer type does not hold");
}

/// A tensor at this place, of which every element is `number`.
template <class Backend, class X>
constexpr X filled(Backend& b, tensor_place<X> const& place, double number) {
  using T = typename X::element_type;
  auto const v = make_value<T>(b, place.local_size());
  b.run(primitives::fill<T>{v.data(), place.local_size(), static_cast<T>(static_cast<compute_t<T>>(number))});
  if (number != 0) zero_pads(b, place.spec(), v.data());
  return place.tensor(v);
}

}  // namespace detail

/// Every element is `number`; one that integers or bools do not hold is a user_error.
template <tensor_type X>
constexpr X full(typename X::backend_type& b, double number) {
  detail::check_holds<typename X::element_type>(number);
  return detail::filled(b, detail::place_for<X>(b), number);
}
/// Every element is 0.
template <tensor_type X>
constexpr X zeros(typename X::backend_type& b) {
  return full<X>(b, 0);
}
/// Every element is 1.
template <tensor_type X>
constexpr X ones(typename X::backend_type& b) {
  return full<X>(b, 1);
}

}  // namespace mtf
