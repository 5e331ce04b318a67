#pragma once
// A tensor as a constant.
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

struct stop_gradient_call {
  template <class X>
  static auto verdict() -> ok;
  template <class X>
  constexpr X operator()(X const& x) const {
    return like(x, value<typename X::backend_type, typename X::element_type>(x.value().memory));
  }
};

}  // namespace detail

/// The tensor as a constant: no gradient flows back through it. It shares x's memory; partial stays partial.
template <operand X>
constexpr auto stop_gradient(X const& x) {
  return detail::operate(detail::stop_gradient_call{}, x);
}

}  // namespace mtf
