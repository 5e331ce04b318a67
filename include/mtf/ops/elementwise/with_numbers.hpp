#pragma once
// What elementwise operations of two tensors are with a number in place of one, and of a tensor of bool.
#include <type_traits>

#include <mtf/core/verdict.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/math/dual.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>

namespace mtf {

namespace detail {

/// Function{number} of what a tensor of bool says and an element of x.
template <template <class> class Function, class N>
struct choose_call {
  N number;

  template <class C, class X>
  static auto verdict() -> number_verdict_t<typename X::element_type, N>;
  template <class C, class X>
  using operands_rule = said_by_parts;
  template <class C, class X>
  constexpr auto operator()(C const& c, X const& x) const {
    using T = number_beside_t<typename X::element_type>;
    return map(Function<T>{number_as<T>(number)}, c, x);
  }
};

}  // namespace detail

/// The larger of each element and n, and the smaller one: NaN where the element is. Where the two are equal, half of
/// the gradient passes, as with two tensors; `relu` and `clip` differ there.
template <operand X, math::plain_number N>
constexpr auto max(X const& x, N n) {
  return detail::map_with_numbers<functions::at_least>(x, n);
}
template <operand X, math::plain_number N>
constexpr auto max(N n, X const& x) {
  return max(x, n);
}
template <operand X, math::plain_number N>
constexpr auto min(X const& x, N n) {
  return detail::map_with_numbers<functions::at_most>(x, n);
}
template <operand X, math::plain_number N>
constexpr auto min(N n, X const& x) {
  return min(x, n);
}

/// if_true where c holds, else the number; and the number where c holds, else if_false.
template <operand C, operand X, math::plain_number N>
constexpr auto where(C const& c, X const& if_true, N if_false) {
  return detail::operate(detail::choose_call<functions::where_else, N>{if_false}, c, if_true);
}
template <operand C, operand X, math::plain_number N>
constexpr auto where(C const& c, N if_true, X const& if_false) {
  return detail::operate(detail::choose_call<functions::where_not, N>{if_true}, c, if_false);
}

/// One number where c holds, else another, in the type that they have together.
template <operand C, math::plain_number A, math::plain_number B>
constexpr auto where(C const& c, A if_true, B if_false) {
  using T = std::common_type_t<A, B>;
  return map(functions::choice<T>{static_cast<T>(if_true), static_cast<T>(if_false)}, c);
}

/// After a refusal of what was to be a number.
template <operand X, class Low, class High>
  requires(detail::any_refused<Low, High>)
constexpr auto clip(X const&, Low const&, High const&) {
  return refused{};
}

/// Where x is false, or 0.
template <operand X>
constexpr auto operator!(X const& x) {
  return x == 0;
}

// n < x is x > n.
#define MTF_DEFINE(OP, MIRRORED)                \
  template <operand X, math::plain_number N>    \
  constexpr auto operator OP(N n, X const& x) { \
    return x MIRRORED n;                        \
  }
MTF_DEFINE(<, >)
MTF_DEFINE(>, <)
MTF_DEFINE(<=, >=)
MTF_DEFINE(>=, <=)
MTF_DEFINE(==, ==)
MTF_DEFINE(!=, !=)
#undef MTF_DEFINE

}  // namespace mtf
