#pragma once
// From names to values: the sharding of a shape under a layout.
#include <mtf/core/extents_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf::detail {

template <class... D, class Extents = extents_in_types>
constexpr sharding sharding_from(shape<D...> const*, [[maybe_unused]] auto split_of, axis_mask partial,
                                 [[maybe_unused]] Extents const& extents = {}) {
  sharding s;
  (s.push({D::id, extents.template of<D>(), split_of(D::id, D::kin), D::name.data(), D::kin}), ...);
  s.partial = partial;
  return s;
}

/// The sharding of a shape under a layout.
template <class Shape, class Layout, class Partial = partial<>>
inline constexpr sharding sharding_of = sharding_from(static_cast<Shape const*>(nullptr), &Layout::split_of,
                                                      Partial::template mask<typename Layout::mesh_type>());

}  // namespace mtf::detail
