#pragma once
// Positions.

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

template <class Dim, class Backend, class X>
constexpr X positions(Backend& b, tensor_place<X> const& place) {
  auto const& mesh = b.ranks().mesh();
  int const d = place.spec().find(Dim::id);
  auto const v = make_value<typename X::element_type>(b, place.local_size());
  b.run(primitives::iota<typename X::element_type>{rows_along(place.spec(), d, mesh),
                                                   shard_offset(place.spec(), d, mesh, b.ranks().rank()), v.data()});
  zero_pads(b, place.spec(), v.data());
  return place.tensor(v);
}

}  // namespace detail

/// The position along Dim, as elements of X.
template <dimension Dim, tensor_type X>
constexpr X iota(typename X::backend_type& b) {
  static_cast<void>(detail::require<detail::named_dims_t<typename X::shape_type, Dim>>{});
  return detail::positions<Dim>(b, detail::place_for<X>(b));
}

}  // namespace mtf
