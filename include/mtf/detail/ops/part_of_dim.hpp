#pragma once
// A tensor with a part of a dimension in place of all of it, under another name.
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <mtf/core/dim.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/shape.hpp>
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
  static_assert(never<Part>, MTF_SENTENCE(MTF_SAYS_PART_TOO_LONG, Part, Whole));
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
  else if constexpr (has_extent<To> && has_extent<From>)
    return std::conditional_t<(To::extent <= From::extent), ok, error_part_too_long<To, From>>{};
  else
    return ok{};  // part_of asks when it is known
}

/// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void part_is_too_long(std::string_view part, std::int64_t length, std::string_view dim,
                                          std::int64_t extent) {
  throw user_error(refusal(MTF_SAYS_PART_TOO_LONG, std::string(part) + " " + std::to_string(length) + ", " +
                                                       std::string(dim) + " " + std::to_string(extent)));
}
/// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void part_is_outside(std::string_view part, std::int64_t length, std::string_view dim,
                                         std::int64_t extent, std::int64_t start) {
  throw user_error("a part, " + std::string(part) + " " + std::to_string(length) + ", that begins at " +
                   std::to_string(start) + " is not within " + std::string(dim) + " " + std::to_string(extent) +
                   ": it can begin at 0 to " + std::to_string(extent - length));
}
}  // namespace detail

}  // namespace mtf
