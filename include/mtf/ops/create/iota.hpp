#pragma once
// Positions.

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

/// The position along Dim, as elements of X.
template <dimension Dim, tensor_type X>
constexpr X iota(typename X::backend_type& b) {
  static_cast<void>(detail::require<detail::named_dims_t<typename X::shape_type, Dim>>{});
  auto const place = detail::place_for<X>(b);
  auto const& mesh = b.ranks().mesh();
  int const d = place.spec().find(Dim::id);
  auto const v = detail::make_value<typename X::element_type>(b, place.local_size());
  b.run(primitives::iota<typename X::element_type>{detail::rows_along(place.spec(), d, mesh),
                                                   detail::shard_offset(place.spec(), d, mesh, b.ranks().rank()),
                                                   v.data()});
  detail::zero_pads(b, place.spec(), v.data());
  return place.tensor(v);
}

}  // namespace mtf
