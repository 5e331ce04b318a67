#pragma once
// Arithmetic, comparisons and the usual functions on tensors: each is one `map`. A number beside a tensor is taken in
// the type that the tensor's elements are computed in; beside integers and bools it must be an integer.
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/core/error.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/math/dual.hpp>
#include <mtf/math/functions.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>

namespace mtf {

/// A tensor of integers or bools meets a floating-point number.
template <class Element, class Number>
struct error_fractional_number : detail::failed {};

namespace detail {

template <class T, class N, class... By>
struct require<error_fractional_number<T, N>, By...> {
  static_assert(
      never<T, N>,
      MTF_SENTENCE(
          "mtf: a tensor of integers or bools meets a floating-point number, which would be rounded; convert the "
          "tensor by mtf::cast<float>(x), or write an integer",
          T, N));
};

/// The type of a number beside elements of type T: that in which they are computed; bools count as integers, as in C++.
template <class T>
using number_beside_t = std::conditional_t<std::is_same_v<T, bool>, std::int32_t, compute_t<T>>;

/// Integers would round a fractional number towards zero, and x * 0.5 be 0: what is meant must be said.
template <class T, class N>
using number_verdict_t = std::conditional_t<is_floating<T> || std::is_integral_v<N>, ok, error_fractional_number<T, N>>;

/// n as a T. Not in T's range: user_error.
template <class T, class N>
constexpr T number_as(N n) {
  if constexpr (std::is_integral_v<T>)
    if (auto const value = +n; !std::in_range<T>(value))
      throw user_error("the number " + std::to_string(value) + " beside a tensor of " + std::to_string(8 * sizeof(T)) +
                       "-bit integers does not fit into one of them; mtf::cast the tensor to a wider type");
  return static_cast<T>(n);
}

/// Function{n...} of every element.
template <template <class> class Function, class... N>
struct map_with_numbers_call {
  std::tuple<N...> numbers;

  template <class X>
  static auto verdict() -> first_failed_t<number_verdict_t<typename X::element_type, N>...>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = number_beside_t<typename X::element_type>;
    return map(std::apply([](N... n) { return Function<T>{number_as<T>(n)...}; }, numbers), x);
  }
};
template <template <class> class Function, class X, class... N>
constexpr auto map_with_numbers(X const& x, N... n) {
  return operate(map_with_numbers_call<Function, N...>{{n...}}, x);
}

/// Integers are not divided by 0.
template <class X, class N>
constexpr void refuse_zero([[maybe_unused]] N n) {
  if constexpr (std::is_integral_v<compute_of_t<X>>)
    if (n == 0) throw user_error("a tensor of integers is divided by the number 0");
}

/// x^n, for whole n by products.
template <class N>
struct pow_call {
  N n;

  template <class X>
  static auto verdict() -> number_verdict_t<typename X::element_type, N>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    if constexpr (is_floating<typename X::element_type>) {
      if (math::is_whole_exponent(n)) return map(functions::whole_power{static_cast<std::int32_t>(n)}, x);
      return map_with_numbers<functions::power>(x, n);
    } else {
      auto const exponent = number_as<std::int32_t>(n);
      if (exponent < 0)
        throw user_error("pow of a tensor of integers: the exponent " + std::to_string(exponent) + " is negative");
      return map(functions::whole_power{exponent}, x);
    }
  }
};

}  // namespace detail

template <operand X, operand Y>
constexpr auto operator+(X const& x, Y const& y) {
  return map(functions::add{}, x, y);
}
template <operand X, operand Y>
constexpr auto operator-(X const& x, Y const& y) {
  return map(functions::subtract{}, x, y);
}
template <operand X, operand Y>
constexpr auto operator*(X const& x, Y const& y) {
  return map(functions::multiply{}, x, y);
}
template <operand X, operand Y>
constexpr auto operator/(X const& x, Y const& y) {
  return map(functions::divide{}, x, y);
}
template <operand X>
constexpr auto operator-(X const& x) {
  return map(functions::negate{}, x);
}

template <operand X, math::plain_number N>
constexpr auto operator+(X const& x, N n) {
  return detail::map_with_numbers<functions::shift>(x, n);
}
template <operand X, math::plain_number N>
constexpr auto operator+(N n, X const& x) {
  return x + n;
}
template <operand X, math::plain_number N>
constexpr auto operator-(X const& x, N n) {
  return detail::map_with_numbers<functions::shift_back>(x, n);
}
template <operand X, math::plain_number N>
constexpr auto operator-(N n, X const& x) {
  return detail::map_with_numbers<functions::subtract_from>(x, n);
}
template <operand X, math::plain_number N>
constexpr auto operator*(X const& x, N n) {
  return detail::map_with_numbers<functions::scale>(x, n);
}
template <operand X, math::plain_number N>
constexpr auto operator*(N n, X const& x) {
  return x * n;
}
/// Integers divide as in C++, towards zero; `x / 0` of integers is a user_error.
template <operand X, math::plain_number N>
constexpr auto operator/(X const& x, N n) {
  detail::refuse_zero<X>(n);
  return detail::map_with_numbers<functions::divide_by>(x, n);
}
template <operand X, math::plain_number N>
constexpr auto operator/(N n, X const& x) {
  return detail::map_with_numbers<functions::divide_into>(x, n);
}

/// What floor_divide leaves of x, with the sign of y, as in Python; of integers 0 for y = 0. The gradient of y is that
/// of the remainder, times -floor_divide(x, y).
template <operand X, operand Y>
constexpr auto operator%(X const& x, Y const& y) {
  return map(functions::remainder{}, x, y);
}
/// `x % 0` of integers is a user_error.
template <operand X, math::plain_number N>
constexpr auto operator%(X const& x, N n) {
  detail::refuse_zero<X>(n);
  return detail::map_with_numbers<functions::remainder_by>(x, n);
}
/// x / n rounded down, as in Python. Of integers a user_error for n = 0.
template <operand X, math::plain_number N>
constexpr auto floor_divide(X const& x, N n) {
  detail::refuse_zero<X>(n);
  return detail::map_with_numbers<functions::floor_divide_by>(x, n);
}

/// Both hold: of tensors of bool, or of numbers that are not 0. Unlike C++'s, both sides are always computed.
template <operand X, operand Y>
constexpr auto operator&&(X const& x, Y const& y) {
  return map(functions::logical_and{}, x, y);
}
/// One holds, or both.
template <operand X, operand Y>
constexpr auto operator||(X const& x, Y const& y) {
  return map(functions::logical_or{}, x, y);
}

#define MTF_DEFINE(NAME, OP)                                         \
  template <operand X, operand Y>                                    \
  constexpr auto operator OP(X const& x, Y const& y) {               \
    return map(functions::NAME{}, x, y);                             \
  }                                                                  \
  template <operand X, math::plain_number N>                         \
  constexpr auto operator OP(X const& x, N n) {                      \
    return detail::map_with_numbers<functions::NAME##_number>(x, n); \
  }
MTF_COMPARISONS(MTF_DEFINE)
#undef MTF_DEFINE

// exp(x) and the others, as mtf/math/functions.hpp says of each: what it is, and its derivative where that is a choice.
#define MTF_DEFINE(NAME, FLOATING)    \
  template <operand X>                \
  constexpr auto NAME(X const& x) {   \
    return map(functions::NAME{}, x); \
  }
MTF_FUNCTIONS_OF_ONE(MTF_DEFINE)
MTF_STEPS(MTF_DEFINE)
#undef MTF_DEFINE
#define MTF_DEFINE(NAME, FLOATING)              \
  template <operand X, operand Y>               \
  constexpr auto NAME(X const& x, Y const& y) { \
    return map(functions::NAME{}, x, y);        \
  }
MTF_FUNCTIONS_OF_TWO(MTF_DEFINE)
#undef MTF_DEFINE

/// x^n. Whole exponents are products, so of negative x and of integers too; else a negative x gives NaN. A negative
/// exponent of integers is a user_error. Refused: a fractional exponent of integers.
template <operand X, math::plain_number N>
constexpr auto pow(X const& x, N n) {
  return detail::operate(detail::pow_call<N>{n}, x);
}
/// min(max(x, low), high). The gradient passes where x is in [low, high], at the bounds too (as PyTorch's clamp has it;
/// JAX's clip passes half of it there).
template <operand X, math::plain_number N>
constexpr auto clip(X const& x, N low, N high) {
  return detail::map_with_numbers<functions::clip>(x, low, high);
}
/// x above 0, else alpha (e^x - 1); the derivative at 0 is alpha. Refused: integers and bools.
template <operand X, math::plain_number N = double>
constexpr auto elu(X const& x, N alpha = 1) {
  return detail::map_with_numbers<functions::elu>(x, alpha);
}
/// x above 0, else slope x; the derivative at 0 is the slope, as PyTorch has it. Refused: integers and bools.
template <operand X, math::plain_number N = double>
constexpr auto leaky_relu(X const& x, N slope = 0.01) {
  return detail::map_with_numbers<functions::leaky_relu>(x, slope);
}
/// if_true where c holds, else if_false. c is a tensor of bool, as comparisons make it.
template <operand C, operand X, operand Y>
constexpr auto where(C const& c, X const& if_true, Y const& if_false) {
  return map(functions::where{}, c, if_true, if_false);
}

}  // namespace mtf
