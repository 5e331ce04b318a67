#pragma once
// A tensor with a part of a dimension in place of all of it, under another name.
#include <type_traits>

#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/operands.hpp>

namespace mtf {

/// A part of a dimension that is longer than the dimension.
template <class Part, class Whole>
struct error_part_too_long : detail::failed {};

namespace detail {

template <class Part, class Whole, class... By>
struct require<error_part_too_long<Part, Whole>, By...> {
  static_assert(never<Part>,
                MTF_SENTENCE("mtf: a part of a dimension is at most as long as the dimension", Part, Whole));
};

/// A shape with `To` in the place of `From`.
template <class From, class To>
struct replaced_dim {
  template <class... D>
  static auto of(shape<D...> const*) -> shape<std::conditional_t<D::id == From::id, To, D>...>;
  template <class Shape>
  using in = decltype(of(static_cast<Shape const*>(nullptr)));
};

/// The verdict on a part `To` of dimension `From` of a shape.
template <class Shape, class From, class To>
auto part_verdict() {
  using names = named_dims_t<Shape, From>;
  if constexpr (!names::value)
    return names{};
  else if constexpr (Shape::template has<To>)
    return error_dim_already_there<To, Shape>{};
  else
    return std::conditional_t<(To::extent <= From::extent), ok, error_part_too_long<To, From>>{};
}

/// The same of a sharding; the part is not split.
template <class From, class To>
constexpr sharding with_part(sharding x) {
  for (int d = 0; d < x.ndim; ++d)
    if (x[d].id == From::id)
      x[d] = {.id = To::id, .extent = To::extent, .split = {}, .name = To::name.data(), .kin = To::kin};
  return x;
}

}  // namespace detail

}  // namespace mtf
