#pragma once
// Ordered sets of dimensions.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/core/dim.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>

namespace mtf {

namespace detail {

template <class... D>
struct shape_verdict {
  template <std::size_t I>
  static auto pick() {
    if constexpr (sizeof...(D) > static_cast<std::size_t>(max_dims))
      return error_too_many_dims<max_dims, D...>{};
    else if constexpr (I == sizeof...(D))
      return ok{};
    else
      return error_dim_twice<nth<I, D...>>{};
  }
  using type = decltype(pick<first_repeated(std::array<std::uint64_t, sizeof...(D)>{D::id...})>());
};

/// What only extents that are in types tell.
template <class... D>
struct sizes_of {};
template <class... D>
  requires(has_extent<D> && ...)
struct sizes_of<D...> {
  /// The number of elements of the global tensor, without pads.
  static constexpr std::int64_t size = (std::int64_t{1} * ... * D::extent);
  static constexpr std::array<std::int64_t, sizeof...(D) + 1> extents{D::extent..., 1};
};

}  // namespace detail

/// The verdict on these dimensions as those of one tensor.
template <class... Dims>
using shape_verdict_t = typename detail::shape_verdict<Dims...>::type;

/// The dimensions of a tensor; the last varies fastest in memory. Refused: a dimension twice, more than max_dims of
/// them. Where each has its extent in its type, there is `size`, the number of elements, and `extents`.
template <dimension... Dims>
struct shape : detail::sizes_of<Dims...> {
  using checked = checked_t<shape_verdict_t<Dims...>>;
  static constexpr int ndim = static_cast<int>(sizeof...(Dims));
  /// Whether each extent is in its dimension's type.
  static constexpr bool has_extents = (detail::has_extent<Dims> && ...);
  static constexpr std::array<std::uint64_t, sizeof...(Dims) + 1> ids{Dims::id..., 0};

  /// The I-th dimension, from 0.
  template <std::size_t I>
  using at = detail::nth<I, Dims...>;
  /// The position of a dimension, -1 if it is not there.
  static constexpr int find(std::uint64_t id) {
    for (int i = 0; i < ndim; ++i)
      if (ids[static_cast<std::size_t>(i)] == id) return i;
    return -1;
  }
  template <class D>
  static constexpr bool has = find(D::id) >= 0;
};

}  // namespace mtf
