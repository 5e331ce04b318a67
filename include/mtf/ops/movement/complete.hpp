#pragma once
// Reducing a partial tensor.
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

/// The same tensor, no longer partial: one all-reduce over the axes over which it is partial, remembered with its
/// memory; free if it is not partial. Backward: nothing is sent.
template <operand X>
constexpr auto complete(X const& x) {
  return detail::operate(detail::complete_call{}, x);
}

}  // namespace mtf
