#pragma once
// Whether a layout fits tensors of a shape.
#include <cstddef>

#include <mtf/core/dim.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/sharding/finding.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>

namespace mtf {

namespace detail {

template <class Shape, class Layout, class Partial>
struct tensor_verdict {
  static constexpr sharding spec = sharding_of<Shape, Layout, Partial>;
  static constexpr mesh_shape mesh = Layout::mesh_type::shape();
  /// The first dimension that its axes do not divide: one that shares only its name with the layout's.
  static constexpr int indivisible() {
    for (int d = 0; d < spec.ndim; ++d)
      if (spec[d].extent % mesh.size(spec[d].split.mask()) != 0) return d;
    return spec.ndim;
  }
  /// The first whose extent is a value.
  template <class... D>
  static constexpr std::size_t without_extent(shape<D...> const*) {
    std::size_t at = sizeof...(D), i = 0;
    ((at = !has_extent<D> && at == sizeof...(D) ? i : at, ++i), ...);
    return at;
  }
  static auto find() {
    constexpr finding f = check_sharding(spec);
    constexpr int i = indivisible();
    if constexpr (!Shape::checked::value || !Layout::checked::value || shares_axes<Layout>) {
      return ok{};  // refused before; one error is enough. Or an optimizer's state
    } else if constexpr (!Shape::has_extents && !is_any_layout<Layout>) {
      return error_extent_is_a_value<typename Shape::template at<without_extent(static_cast<Shape const*>(nullptr))>>{};
    } else if constexpr (f.what == finding::kind::none && i < spec.ndim) {
      return not_divisible<typename Shape::template at<static_cast<std::size_t>(i)>, mesh.size(spec[i].split.mask())>{};
    } else if constexpr (f.what == finding::kind::none) {
      return ok{};
    } else {
      using Di = typename Shape::template at<static_cast<std::size_t>(f.di)>;
      using Dj = typename Shape::template at<static_cast<std::size_t>(f.dj)>;
      using A = typename Layout::mesh_type::template at<static_cast<std::size_t>(f.axis)>;
      if constexpr (f.what == finding::kind::two_dims_on_axis)
        return error_two_dims_on_one_axis<Di, Dj, A>{};
      else
        return error_dim_split_where_partial<Di, A>{};
    }
  }
  using type = decltype(find());
};

}  // namespace detail

/// The verdict on a tensor of this shape under this layout: the layout must be injective on it.
template <class Shape, class Layout, class Partial = partial<>>
using tensor_verdict_t = typename detail::tensor_verdict<Shape, Layout, Partial>::type;

/// A layout under which tensors of this shape can exist.
template <class Layout, class Shape>
concept valid_layout_for = tensor_verdict_t<Shape, Layout>::value;

}  // namespace mtf
