#pragma once
// The variance along dimensions.
#include <type_traits>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/ops/reduction/reduce.hpp>

namespace mtf {

namespace detail {

template <class... D>
struct variance_call {
  template <class X>
  static auto verdict() -> named_dims_t<typename X::shape_type, D...>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using mean_of = mean_call<D...>;
    if constexpr (!is_floating<T>) {
      return variance_call{}(cast<float>(x));
    } else if constexpr (std::is_same_v<T, bfloat16>) {  // whose mean would be rounded by more than x varies
      auto const wide = variance_call{}(cast<float>(x));
      if constexpr (reduce_call<reduce_by::sum, D...>::template sums_all<X>)
        return wide;
      else
        return cast<T>(wide);
    } else {
      auto const whole = complete(x);  // its sum is paid for once
      // Through the mean there is no gradient: the differences from it sum to 0.
      return mean_of{}(square(whole - stop_gradient(mean_of{}(whole))));
    }
  }
};

}  // namespace detail

/// The mean of the squared differences from the mean, along the named dimensions, or all: divided by their number, as
/// NumPy has it. The differences are taken before they are squared, so nothing cancels. Of integers and bools, and of
/// bfloat16 along all, it is float. Communication: one all-reduce of the mean over the axes that split the dimensions;
/// the result is partial over them. Backward: as for `sum`. Refused: a dimension that x lacks.
template <dimension... Dims, operand X>
constexpr auto variance(X const& x) {
  return detail::operate(detail::variance_call<Dims...>{}, x);
}

}  // namespace mtf
