#pragma once
// In plans: what stands in the layers that are not visited, as another layer stands for them.
#include <mtf/backend/buffer.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// Like x, on a trace, but in memory of its own, of no bytes: so x's is held by as many as in a run, where each layer
/// has its own. What is no tensor, and does not say how, is copied.
template <class X>
constexpr X placeholder_of(X const& x) {
  if constexpr (tensor_type<X>) {
    if (x.empty()) return x;
    using T = typename X::element_type;
    return like(x, value<typename X::backend_type, T>(make_buffer<T>(x.backend(), 0), x.value().slot));
  } else if constexpr (requires { x.placeholder(); }) {
    return x.placeholder();
  } else {
    return x;
  }
}

}  // namespace mtf::detail
