#pragma once
// The same tensor with its sums taken.
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

struct complete_call {
  template <class X>
  static auto verdict() -> ok;
  template <class X>
  constexpr auto operator()(X const& x) const {
    using backend_type = typename X::backend_type;
    using out = typename reshaped<typename X::description, typename X::shape_type, 0>::template on<backend_type>;
    operation<backend_type> const here(x.backend(), "complete", X::spec);
    return out(completed_value(x.value(), X::spec, X::spec.partial));
  }
};

}  // namespace detail

/// The same tensor with all its sums taken. One all-reduce over the axes over which it is partial; free if it is not.
template <operand X>
constexpr auto complete(X const& x) {
  return detail::operate(detail::complete_call{}, x);
}

}  // namespace mtf
