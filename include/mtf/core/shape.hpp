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

}  // namespace detail

/// The verdict on these dimensions as those of one tensor.
template <class... Dims>
using shape_verdict_t = typename detail::shape_verdict<Dims...>::type;

/// The dimensions of a tensor; the last varies fastest in memory. Refused: a dimension twice, more than max_dims of
/// them.
template <dimension... Dims>
struct shape {
  using checked = checked_t<shape_verdict_t<Dims...>>;
  static constexpr int ndim = static_cast<int>(sizeof...(Dims));
  /// The number of elements of the global tensor.
  static constexpr std::int64_t size = (std::int64_t{1} * ... * Dims::extent);
  static constexpr std::array<std::uint64_t, sizeof...(Dims) + 1> ids{Dims::id..., 0};
  static constexpr std::array<std::int64_t, sizeof...(Dims) + 1> extents{Dims::extent..., 1};

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
