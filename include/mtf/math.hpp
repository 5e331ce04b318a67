#pragma once
// Elementwise functions on numbers, for use in function objects given to `mtf::map`: they take float, double and the dual
// numbers by which mtf differentiates, and vectorize on the host.
#include <type_traits>

#include <mtf/detail/dual.hpp>
#include <mtf/detail/fast_math.hpp>
#include <mtf/detail/order.hpp>

namespace mtf::math {

namespace detail {
using namespace mtf::detail;

template <class X>
struct number_of {
  using type = X;
};
template <class T>
struct number_of<dual<T>> {
  using type = T;
};
template <class T>
concept number = std::is_arithmetic_v<T>;
}  // namespace detail

/// The plain number type under X: float for float and for dual numbers of float.
template <class X>
using number_t = typename detail::number_of<X>::type;

template <detail::number T>
MTF_FUNCTION T exp(T x) {
  return detail::fast_exp(x);
}
template <detail::number T>
MTF_FUNCTION T log(T x) {
  return detail::fast_log(x);
}
template <detail::number T>
MTF_FUNCTION T tanh(T x) {
  return detail::fast_tanh(x);
}
/// Also in constant expressions, as a program's plan is one: there by Newton's method, for finite x >= 0.
template <detail::number T>
MTF_FUNCTION constexpr T sqrt(T x) {
  if (!std::is_constant_evaluated()) return detail::library_sqrt(x);
  T root = x > T(1) ? x : T(1);
  for (T next = root; x > T(0) && (next = (root + x / root) / 2) < root;) root = next;
  return x > T(0) ? root : T(0);
}
template <detail::number T>
MTF_FUNCTION constexpr T abs(T x) {
  return x > T(0) ? x : T(0) - x;  // of -0 it is 0
}
/// The larger of two numbers, and the smaller one below: NaN if one is NaN, and -0 is less than 0.
template <detail::number A, detail::number B>
MTF_FUNCTION constexpr auto max(A a, B b) {
  using R = detail::mixed_t<A, B>;
  return detail::larger(static_cast<R>(a), static_cast<R>(b));
}
template <detail::number A, detail::number B>
MTF_FUNCTION constexpr auto min(A a, B b) {
  using R = detail::mixed_t<A, B>;
  return detail::smaller(static_cast<R>(a), static_cast<R>(b));
}

template <class T>
MTF_FUNCTION detail::dual<T> exp(detail::dual<T> x) {
  T const e = exp(x.v);
  return {e, e * x.d};
}
template <class T>
MTF_FUNCTION detail::dual<T> log(detail::dual<T> x) {
  return {log(x.v), x.d / x.v};
}
template <class T>
MTF_FUNCTION detail::dual<T> tanh(detail::dual<T> x) {
  T const t = tanh(x.v);
  return {t, (T(1) - t * t) * x.d};
}
template <class T>
MTF_FUNCTION detail::dual<T> sqrt(detail::dual<T> x) {
  T const r = sqrt(x.v);
  return {r, x.d / (T(2) * r)};
}
/// The derivative at 0 is 0.
template <class T>
MTF_FUNCTION constexpr detail::dual<T> abs(detail::dual<T> x) {
  return {abs(x.v), x.v > T(0) ? x.d : x.v < T(0) ? -x.d : T(0)};
}

template <class X>
MTF_FUNCTION X rsqrt(X x) {
  return number_t<X>(1) / sqrt(x);
}
template <class X>
MTF_FUNCTION X square(X x) {
  return x * x;
}
/// 1 / (1 + e^-x)
template <class X>
MTF_FUNCTION X sigmoid(X x) {
  return number_t<X>(1) / (number_t<X>(1) + exp(-x));
}
/// if_true where c holds, else if_false.
template <class A, class B>
MTF_FUNCTION auto where(bool c, A if_true, B if_false) {
  using R = detail::mixed_t<A, B>;
  return c ? R(if_true) : R(if_false);
}
/// Where the two are equal, each has half of the derivative.
template <class A, class B>
MTF_FUNCTION constexpr auto max(A a, B b) {
  using R = detail::mixed_t<A, B>;
  R const x = a, y = b;
  auto const both = (x.d + y.d) / 2;
  return R(max(x.v, y.v), x.v > y.v ? x.d : x.v < y.v ? y.d : both);
}
template <class A, class B>
MTF_FUNCTION constexpr auto min(A a, B b) {
  using R = detail::mixed_t<A, B>;
  R const x = a, y = b;
  auto const both = (x.d + y.d) / 2;
  return R(min(x.v, y.v), x.v < y.v ? x.d : x.v > y.v ? y.d : both);
}
/// The larger of x and 0; the derivative at 0 is 0.
template <class X>
MTF_FUNCTION constexpr X relu(X x) {
  return x <= X(0) ? X(0) : x;
}
/// x sigmoid(x), also called swish.
template <class X>
MTF_FUNCTION X silu(X x) {
  return x / (number_t<X>(1) + exp(-x));
}
/// The tanh approximation of Hendrycks & Gimpel 2016, as GPT-2 uses it.
template <class X>
MTF_FUNCTION X gelu(X x) {
  using T = number_t<X>;
  return T(0.5) * x * (T(1) + tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
}
/// x^y for x > 0.
template <class A, class B>
MTF_FUNCTION auto pow(A x, B y) {
  return exp(log(x) * y);
}
/// min(max(x, low), high); the derivative is 1 from low to high, both included.
template <detail::number T>
MTF_FUNCTION constexpr T clip(T x, number_t<T> low, number_t<T> high) {
  return min(max(x, low), high);
}
template <class T>
MTF_FUNCTION constexpr detail::dual<T> clip(detail::dual<T> x, number_t<T> low, number_t<T> high) {
  return {clip(x.v, low, high), x.v < low || x.v > high ? T(0) : x.d};
}

}  // namespace mtf::math
