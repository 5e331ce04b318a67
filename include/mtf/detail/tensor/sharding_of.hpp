#pragma once
// From names to values: the sharding of a shape under a layout.
#include <cstdint>

#include <mtf/core/extents_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf::detail {

/// A dimension as long as `extents` say, split over these axes.
template <class D, class Extents>
constexpr dim_state dim_from(Extents const& extents, axis_list const& split) {
  auto const stored = extents.template stored<D>();
  return {D::id, stored, split, static_cast<std::int32_t>(stored - extents.template of<D>()), D::name.data(), D::kin};
}

template <class... D, class Extents = extents_in_types>
constexpr sharding sharding_from(shape<D...> const*, [[maybe_unused]] auto split_of, axis_mask partial,
                                 [[maybe_unused]] Extents const& extents = {}) {
  sharding s;
  (s.push(dim_from<D>(extents, split_of(D::id, D::kin))), ...);
  s.partial = partial;
  return s;
}

/// The sharding of a shape under a layout.
template <class Shape, class Layout, class Partial = partial<>>
inline constexpr sharding sharding_of = sharding_from(static_cast<Shape const*>(nullptr), &Layout::split_of,
                                                      Partial::template mask<typename Layout::mesh_type>());

}  // namespace mtf::detail
