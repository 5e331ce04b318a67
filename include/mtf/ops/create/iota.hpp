#pragma once
// Positions.
#include <utility>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

/// The position along Dim, as elements of X.
template <dimension Dim, tensor_type X>
constexpr X iota(typename X::backend_type& b) {
  static_cast<void>(detail::require<detail::named_dims_t<typename X::shape_type, Dim>>{});
  constexpr int d = X::spec.find(Dim::id);
  auto v = detail::make_value<typename X::element_type>(b, X::local_size);
  b.run(primitives::iota<typename X::element_type>{
      detail::rows_along(X::spec, d, X::mesh), detail::shard_offset(X::spec, d, X::mesh, b.ranks().rank()), v.data()});
  return X(std::move(v));
}

}  // namespace mtf
