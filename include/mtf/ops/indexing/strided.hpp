#pragma once
// Positions of a dimension that are some steps apart.
#include <cstdint>
#include <string>
#include <string_view>

#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/moved_along.hpp>
#include <mtf/detail/ops/part_of_dim.hpp>
#include <mtf/tensor/extent.hpp>

namespace mtf {

namespace detail {

/// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void steps_leave(std::string_view part, std::int64_t length, std::string_view dim,
                                     std::int64_t extent, std::int64_t start, std::int64_t step) {
  throw user_error("a part, " + std::string(part) + " " + std::to_string(length) + ", from " + std::to_string(start) +
                   " on in steps of " + std::to_string(step) + " is not within " + std::string(dim) + " " +
                   std::to_string(extent));
}

template <class D, class Part>
struct strided_call {
  std::int64_t start, step;

  template <class X>
  using part_of = typename replaced_dim<D, Part>::template in<typename X::shape_type>;
  template <class X>
  static auto verdict() {
    using names = decltype(part_verdict<typename X::shape_type, D, Part>());
    if constexpr (!names::value)
      return names{};
    else
      return tensor_verdict_t<part_of<X>, typename X::layout_type>{};
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using rule = replacing_rule<D, Part>;
    using described = typename X::description;
    constexpr auto partial = work_in_types<rule, described>.out.partial;
    index const whole = extent<D>(x), n = extents_here{x.backend().layouts().extents()}.template of<Part>();
    // Counted from what is there, so that no product of large numbers is asked whether it is within.
    index const room = step > 0 ? whole - 1 - start : start;
    auto const apart = step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
    if (step == 0 || start < 0 || start >= whole ||
        static_cast<std::uint64_t>(n - 1) > static_cast<std::uint64_t>(room) / apart)
      steps_leave(Part::name, n, D::name, whole, start, step);
    moved_stretches<2> const parts{{{{.count = n, .from = start, .from_step = step}, 0}, {}}};
    return run_as<reshaped<described, part_of<X>, partial>, rule>(moving_operation<T>{nullptr, "slice", parts}, x);
  }
};

}  // namespace detail

/// The positions `start`, `start + step` and so on of dimension D, as many as Part is long and under its name. `step`
/// may be below 0, and not 0; start and step are the same on all ranks. Part is split as the layout says. Where D is
/// split each rank gets what it lacks of its positions from those that have it, and nothing else is sent; gradients go
/// back likewise. A partial tensor stays partial where Part is not split. What is not within D is a user_error.
/// Refused: a Part that is longer than D, or there already.
template <dimension D, dimension Part, operand X>
constexpr auto slice(X const& x, std::int64_t start, std::int64_t step) {
  return detail::operate(detail::strided_call<D, Part>{start, step}, x);
}

}  // namespace mtf
