#pragma once
// Arithmetic, comparisons and the usual functions on tensors: each is one `map`. A number beside a tensor is taken in
// the type that the tensor's elements are computed in; beside integers and bools it must be an integer.
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <mtf/core/error.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/math/dual.hpp>
#include <mtf/math/functions.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>

namespace mtf {

namespace detail {

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
template <template <class> class Function, class X, class... N>
constexpr auto map_with_numbers(X const& x, N... n) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using verdict = first_failed_t<number_verdict_t<typename X::element_type, N>...>;
    if constexpr (!verdict::value) {
      require<verdict>{};
      return refused{};
    } else {
      using T = number_beside_t<typename X::element_type>;
      return map(Function<T>{number_as<T>(n)...}, x);
    }
  }
}

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
  if constexpr (std::is_integral_v<detail::compute_of_t<X>>)
    if (n == 0) throw user_error("a tensor of integers is divided by the number 0");
  return detail::map_with_numbers<functions::divide_by>(x, n);
}
template <operand X, math::plain_number N>
constexpr auto operator/(N n, X const& x) {
  return detail::map_with_numbers<functions::divide_into>(x, n);
}

#define MTF_COMPARE(OP, NAME)                                        \
  template <operand X, operand Y>                                    \
  constexpr auto operator OP(X const& x, Y const& y) {               \
    return map(functions::NAME{}, x, y);                             \
  }                                                                  \
  template <operand X, math::plain_number N>                         \
  constexpr auto operator OP(X const& x, N n) {                      \
    return detail::map_with_numbers<functions::NAME##_number>(x, n); \
  }
MTF_COMPARE(<, less)
MTF_COMPARE(>, greater)
MTF_COMPARE(<=, less_equal)
MTF_COMPARE(>=, greater_equal)
MTF_COMPARE(==, equal)
MTF_COMPARE(!=, not_equal)
#undef MTF_COMPARE

#define MTF_UNARY(NAME)               \
  template <operand X>                \
  constexpr auto NAME(X const& x) {   \
    return map(functions::NAME{}, x); \
  }
MTF_UNARY(exp)
MTF_UNARY(log)
MTF_UNARY(sqrt)
MTF_UNARY(rsqrt)
MTF_UNARY(tanh)
MTF_UNARY(sigmoid)
MTF_UNARY(relu)
MTF_UNARY(gelu)
MTF_UNARY(silu)
MTF_UNARY(square)
MTF_UNARY(abs)
#undef MTF_UNARY

/// The larger of two operands, elementwise; NaN where one is. The gradient goes to the larger; where they are equal,
/// half of it to each. (`reduce_max` is the maximum along dimensions.)
template <operand X, operand Y>
constexpr auto max(X const& x, Y const& y) {
  return map(functions::max{}, x, y);
}
/// The smaller, likewise.
template <operand X, operand Y>
constexpr auto min(X const& x, Y const& y) {
  return map(functions::min{}, x, y);
}
/// x^y; of a negative x for whole y only, else NaN. Refused: integers.
template <operand X, operand Y>
constexpr auto pow(X const& x, Y const& y) {
  return map(functions::pow{}, x, y);
}
/// x^n. Whole exponents are products, so of negative x and of integers too; else a negative x gives NaN. A negative
/// exponent of integers is a user_error. Refused: a fractional exponent of integers.
template <operand X, math::plain_number N>
constexpr auto pow(X const& x, N n) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using verdict = detail::number_verdict_t<typename X::element_type, N>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return refused{};
    } else if constexpr (!is_floating<typename X::element_type>) {
      auto const exponent = detail::number_as<std::int32_t>(n);
      if (exponent < 0)
        throw user_error("pow of a tensor of integers: the exponent " + std::to_string(exponent) + " is negative");
      return map(functions::whole_power{exponent}, x);
    } else {
      if (math::is_whole_exponent(n)) return map(functions::whole_power{static_cast<std::int32_t>(n)}, x);
      return detail::map_with_numbers<functions::power>(x, n);
    }
  }
}
/// min(max(x, low), high). The gradient passes where x is in [low, high], at the bounds too (as PyTorch's clamp has it;
/// JAX's clip passes half of it there).
template <operand X, math::plain_number N>
constexpr auto clip(X const& x, N low, N high) {
  return detail::map_with_numbers<functions::clip>(x, low, high);
}
/// if_true where c holds, else if_false. c is a tensor of bool, as comparisons make it.
template <operand C, operand X, operand Y>
constexpr auto where(C const& c, X const& if_true, Y const& if_false) {
  return map(functions::where{}, c, if_true, if_false);
}

}  // namespace mtf
