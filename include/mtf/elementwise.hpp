#pragma once
// Arithmetic, comparisons and the usual functions on tensors: each is one `map`. Numbers are taken in the tensor's
// compute type.
#include <type_traits>

#include <mtf/map.hpp>

namespace mtf {

namespace detail {

template <class N>
concept plain_number = std::is_arithmetic_v<N>;

template <class X>
struct compute_of {
  using type = int;
};
template <class X>
  requires tensor_type<X>
struct compute_of<X> {
  using type = compute_t<typename X::element_type>;
};
template <class X>
using compute_of_t = typename compute_of<X>::type;

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

template <operand X, detail::plain_number N>
constexpr auto operator+(X const& x, N n) {
  using T = detail::compute_of_t<X>;
  return map(functions::shift<T>{static_cast<T>(n)}, x);
}
template <operand X, detail::plain_number N>
constexpr auto operator+(N n, X const& x) {
  return x + n;
}
template <operand X, detail::plain_number N>
constexpr auto operator-(X const& x, N n) {
  using T = detail::compute_of_t<X>;
  return map(functions::shift<T>{-static_cast<T>(n)}, x);
}
template <operand X, detail::plain_number N>
constexpr auto operator-(N n, X const& x) {
  using T = detail::compute_of_t<X>;
  return map(functions::subtract_from<T>{static_cast<T>(n)}, x);
}
template <operand X, detail::plain_number N>
constexpr auto operator*(X const& x, N n) {
  using T = detail::compute_of_t<X>;
  return map(functions::scale<T>{static_cast<T>(n)}, x);
}
template <operand X, detail::plain_number N>
constexpr auto operator*(N n, X const& x) {
  return x * n;
}
template <operand X, detail::plain_number N>
constexpr auto operator/(X const& x, N n) {
  using T = detail::compute_of_t<X>;
  return map(functions::scale<T>{T(1) / static_cast<T>(n)}, x);
}
template <operand X, detail::plain_number N>
constexpr auto operator/(N n, X const& x) {
  using T = detail::compute_of_t<X>;
  return map(functions::divide_into<T>{static_cast<T>(n)}, x);
}

#define MTF_COMPARE(OP, NAME)                              \
  template <operand X, operand Y>                          \
  constexpr auto operator OP(X const& x, Y const& y) {               \
    return map(functions::NAME{}, x, y);                   \
  }                                                        \
  template <operand X, detail::plain_number N>             \
  constexpr auto operator OP(X const& x, N n) {                      \
    using T = detail::compute_of_t<X>;                     \
    return map(functions::NAME##_number<T>{static_cast<T>(n)}, x); \
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
  constexpr auto NAME(X const& x) {             \
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

/// The larger of two operands, elementwise; NaN where one is. The gradient goes to the larger; where they are equal, half of it
/// to each. (`reduce_max` is the maximum along dimensions.)
template <operand X, operand Y>
constexpr auto max(X const& x, Y const& y) {
  return map(functions::max{}, x, y);
}
/// The smaller, likewise.
template <operand X, operand Y>
constexpr auto min(X const& x, Y const& y) {
  return map(functions::min{}, x, y);
}
/// x^y for x > 0.
template <operand X, operand Y>
constexpr auto pow(X const& x, Y const& y) {
  return map(functions::pow{}, x, y);
}
template <operand X, detail::plain_number N>
constexpr auto pow(X const& x, N exponent) {
  using T = detail::compute_of_t<X>;
  return map(functions::power<T>{static_cast<T>(exponent)}, x);
}
/// min(max(x, low), high). The gradient passes where x is in [low, high], at the bounds too (as PyTorch's clamp has it; JAX's
/// clip passes half of it there).
template <operand X, detail::plain_number N>
constexpr auto clip(X const& x, N low, N high) {
  using T = detail::compute_of_t<X>;
  return map(functions::clip<T>{static_cast<T>(low), static_cast<T>(high)}, x);
}
/// if_true where c holds, else if_false. c is a tensor of bool, as comparisons make it.
template <operand C, operand X, operand Y>
constexpr auto where(C const& c, X const& if_true, Y const& if_false) {
  return map(functions::where{}, c, if_true, if_false);
}

}  // namespace mtf
