#pragma once
// A tensor that counts as a constant.
#include <type_traits>

#include <mtf/detail/ops/frame.hpp>

namespace mtf {

/// The tensor as a constant: nothing flows back through it.
template <operand X>
constexpr auto stop_gradient(X x) {
  if constexpr (std::is_same_v<X, refused>)
    return x;
  else
    return X(detail::value<typename X::backend_type, typename X::element_type>(x.value().memory));
}

}  // namespace mtf
