#pragma once
// Reducing a partial tensor.
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

struct complete_call {
  template <class X>
  static auto verdict() -> ok;
  static constexpr bool takes_pads = true;
  static constexpr operation_work<1> derive(mesh_shape const&, sharding const& x) {
    operation_work<1> w{.in = {x}, .out = x};
    w.out.partial = 0;
    return w;
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using backend_type = typename X::backend_type;
    using out = typename reshaped<typename X::description, typename X::shape_type, 0>::template on<backend_type>;
    auto const& spec = place_of(x).spec();
    operation<backend_type> const here(x.backend(), "complete", spec);
    auto const sum = completed_value(x.value(), spec, spec.partial);
    if constexpr (by_value<X>)
      return out(sum, *derived_for<complete_call>(nullptr, x).out);
    else
      return out(sum);
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
