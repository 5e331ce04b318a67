#pragma once
// The same tensor with its sums taken.
#include <type_traits>

#include <mtf/detail/ops/frame.hpp>

namespace mtf {

/// The same tensor with all its sums taken. One all-reduce over the axes over which it is partial; free if it is not.
template <operand X>
constexpr auto complete(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using out = tensor<typename X::element_type, typename X::shape_type, typename X::layout_type, partial<>,
                       typename X::backend_type>;
    backend::operation<typename X::backend_type> const here(x.backend(), "complete", X::spec);
    return out(detail::completed_value(x.value(), X::spec, X::spec.partial));
  }
}

}  // namespace mtf
