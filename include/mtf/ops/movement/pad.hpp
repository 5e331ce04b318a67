#pragma once
// A tensor within a longer one.
#include <cstdint>

#include <mtf/core/element.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/moved_along.hpp>
#include <mtf/detail/ops/part_of_dim.hpp>
#include <mtf/tensor/extent.hpp>

namespace mtf {

namespace detail {

template <class D, class Whole, bool Linear>
struct pad_call {
  std::int64_t before;
  double outside;

  template <class X>
  using padded = typename replaced_dim<D, Whole>::template in<typename X::shape_type>;
  template <class X>
  static auto verdict() {
    using own = typename X::shape_type;
    using names = named_dims_t<own, D>;
    if constexpr (!names::value)
      return names{};
    else if constexpr (own::template has<Whole>)
      return error_dim_already_there<Whole, own>{};
    else if constexpr (!fits())
      return error_part_too_long<D, Whole>{};
    else
      return tensor_verdict_t<padded<X>, typename X::layout_type>{};
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using rule = replacing_rule<D, Whole, Linear>;
    using described = typename X::description;
    constexpr auto partial = work_in_types<rule, described>.out.partial;
    index const n = extent<D>(x), whole = extents_here{x.backend().layouts().extents()}.template of<Whole>();
    if (n > whole) part_is_too_long(D::name, n, Whole::name, whole);
    if (before < 0 || before > whole - n) part_is_outside(D::name, n, Whole::name, whole, before);
    moved_stretches<2> const parts{{{{.count = n, .to = before}, 0}, {}}};
    return run_as<reshaped<described, padded<X>, partial>, rule>(
        moving_operation<T>{nullptr, "pad", parts, static_cast<T>(static_cast<compute_t<T>>(outside))}, x);
  }

 private:
  static constexpr bool fits() {
    if constexpr (has_extent<D> && has_extent<Whole>)
      return D::extent <= Whole::extent;
    else
      return true;  // the rule asks when they are known
  }
};

}  // namespace detail

/// x within zeros: `before` of them along dimension D, then x, then as many as make it Whole, which is in D's place,
/// split as the layout says. `before` is the same on all ranks; where x would not lie within Whole, a user_error. Where
/// D is split each rank gets what it lacks of its positions, as in concat; a D of which Whole is not split is gathered.
/// A partial tensor stays partial where Whole is not split. Refused: a Whole that is shorter than D, or there already.
template <dimension D, dimension Whole, operand X>
constexpr auto pad(X const& x, std::int64_t before) {
  return detail::operate(detail::pad_call<D, Whole, true>{before, 0}, x);
}

/// The same within a number; a partial tensor is reduced first.
template <dimension D, dimension Whole, operand X>
constexpr auto pad(X const& x, std::int64_t before, double value) {
  return detail::operate(detail::pad_call<D, Whole, false>{before, value}, x);
}

}  // namespace mtf
