#pragma once
// How long a tensor's dimension is.
#include <cstdint>

#include <mtf/core/dim.hpp>
#include <mtf/core/refused.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// The extent of dimension D of x: a constant of its type, or what it is in this tensor. Refused: a dimension that x
/// lacks.
template <dimension D, tensor_type X>
constexpr std::int64_t extent([[maybe_unused]] X const& x) {
  using dims = typename X::shape_type;
  if constexpr (!dims::template has<D>) {
    detail::require<error_no_such_dim<D, dims>>{};
    return 1;
  } else if constexpr (detail::has_extent<D>) {
    return D::extent;
  } else {
    return x.where().spec[dims::find(D::id)].logical();
  }
}
template <dimension D>
constexpr std::int64_t extent(refused const&) {
  return 1;
}

}  // namespace mtf
