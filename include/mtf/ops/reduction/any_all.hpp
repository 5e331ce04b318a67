#pragma once
// Whether one holds, and whether all do.
#include <type_traits>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/reduction/reduce.hpp>

namespace mtf {

namespace detail {

template <reduce_by Op, class... D>
struct reduce_bools_call {
  template <class X>
  static auto verdict()
      -> std::conditional_t<std::is_same_v<typename X::element_type, bool>, named_dims_t<typename X::shape_type, D...>,
                            error_element_type<typename X::element_type>>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    return operate(reduce_call<Op, D...>{}, x);
  }
};

}  // namespace detail

/// Whether one holds along the named dimensions, or along all: a tensor of bool. Communication as for `reduce_max`.
/// There is no gradient. Refused: a dimension that x lacks; numbers, which a comparison makes bools.
template <dimension... Dims, operand X>
constexpr auto reduce_any(X const& x) {
  return detail::operate(detail::reduce_bools_call<detail::reduce_by::max, Dims...>{}, x);
}
/// Whether all hold. See `reduce_any`.
template <dimension... Dims, operand X>
constexpr auto reduce_all(X const& x) {
  return detail::operate(detail::reduce_bools_call<detail::reduce_by::min, Dims...>{}, x);
}

}  // namespace mtf
