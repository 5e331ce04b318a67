#pragma once
// Elementwise functions on numbers, for use in function objects given to `mtf::map`: they take float, double and the
// dual numbers by which mtf differentiates, and vectorize on the host.
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <mtf/core/host_device.hpp>
#include <mtf/math/dual.hpp>
#include <mtf/math/fast_math.hpp>
#include <mtf/math/order.hpp>
#include <mtf/math/rounding.hpp>  // IWYU pragma: export

namespace mtf::math {

namespace detail {

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

/// e^x
template <detail::number T>
MTF_FUNCTION T exp(T x) {
  return fast_exp(x);
}
/// The natural logarithm.
template <detail::number T>
MTF_FUNCTION T log(T x) {
  return fast_log(x);
}
/// The hyperbolic tangent.
template <detail::number T>
MTF_FUNCTION T tanh(T x) {
  return fast_tanh(x);
}
/// The square root. Also in constant expressions, as a program's plan is one: there by Newton's method, of finite
/// x >= 0.
template <detail::number T>
MTF_FUNCTION constexpr T sqrt(T x) {
  if (!std::is_constant_evaluated()) return library_sqrt(x);
  T root = x > T(1) ? x : T(1);
  for (T next = root; x > T(0) && (next = (root + x / root) / 2) < root;) root = next;
  return x > T(0) ? root : T(0);
}
/// The absolute value.
template <detail::number T>
MTF_FUNCTION constexpr T abs(T x) {
  return x > T(0) ? x : T(0) - x;  // of -0 it is 0
}
/// The larger of two numbers, and the smaller one below: NaN if one is NaN, and -0 is less than 0.
template <detail::number A, detail::number B>
MTF_FUNCTION constexpr auto max(A a, B b) {
  using R = mixed_t<A, B>;
  return larger(static_cast<R>(a), static_cast<R>(b));
}
/// The smaller of two numbers: NaN if one is NaN, and -0 is less than 0.
template <detail::number A, detail::number B>
MTF_FUNCTION constexpr auto min(A a, B b) {
  using R = mixed_t<A, B>;
  return smaller(static_cast<R>(a), static_cast<R>(b));
}

/// e^x - 1, also where it is near 0.
template <detail::number T>
MTF_FUNCTION T expm1(T x) {
  return fast_expm1(x);
}
/// log(1 + x), also where it is near 0.
template <detail::number T>
MTF_FUNCTION T log1p(T x) {
  return fast_log1p(x);
}
/// The sine, of radians.
template <detail::number T>
MTF_FUNCTION T sin(T x) {
  return library_sin(x);
}
/// The cosine, of radians.
template <detail::number T>
MTF_FUNCTION T cos(T x) {
  return library_cos(x);
}
/// The error function: 2 / sqrt(pi) times the integral of e^(-t t) from 0 to x.
template <detail::number T>
MTF_FUNCTION T erf(T x) {
  return fast_erf(x);
}
template <class T>
MTF_FUNCTION dual<T> exp(dual<T> x) {
  T const e = exp(x.v);
  return {e, chained(e, x.d)};
}
template <class T>
MTF_FUNCTION dual<T> log(dual<T> x) {
  return {log(x.v), x.d / x.v};
}
template <class T>
MTF_FUNCTION dual<T> tanh(dual<T> x) {
  T const t = tanh(x.v);
  return {t, chained(T(1) - t * t, x.d)};
}
template <class T>
MTF_FUNCTION dual<T> sqrt(dual<T> x) {
  T const r = sqrt(x.v);
  return {r, chained(x.d, T(0.5) / r)};
}
template <class T>
MTF_FUNCTION dual<T> expm1(dual<T> x) {
  return {expm1(x.v), chained(exp(x.v), x.d)};
}
template <class T>
MTF_FUNCTION dual<T> log1p(dual<T> x) {
  return {log1p(x.v), x.d / (T(1) + x.v)};
}
template <class T>
MTF_FUNCTION dual<T> sin(dual<T> x) {
  return {sin(x.v), chained(cos(x.v), x.d)};
}
template <class T>
MTF_FUNCTION dual<T> cos(dual<T> x) {
  return {cos(x.v), chained(-sin(x.v), x.d)};
}
template <class T>
MTF_FUNCTION dual<T> erf(dual<T> x) {
  return {erf(x.v), chained(T(1.12837916709551257390) * exp(-x.v * x.v), x.d)};
}
/// The derivative at 0 is 0.
template <class T>
MTF_FUNCTION constexpr dual<T> abs(dual<T> x) {
  return {abs(x.v), x.v > T(0) ? x.d : x.v < T(0) ? -x.d : T(0)};
}

/// 1 / sqrt(x)
template <class X>
MTF_FUNCTION X rsqrt(X x) {
  return number_t<X>(1) / sqrt(x);
}
/// 1 / x
template <class X>
MTF_FUNCTION constexpr X reciprocal(X x) {
  return number_t<X>(1) / x;
}
/// x x
template <class X>
MTF_FUNCTION X square(X x) {
  return x * x;
}
/// 1 / (1 + e^-x)
template <class X>
MTF_FUNCTION X sigmoid(X x) {
  return number_t<X>(1) / (number_t<X>(1) + exp(-x));
}
template <class T>
MTF_FUNCTION dual<T> sigmoid(dual<T> x) {
  T const e = exp(-x.v), s = T(1) / (T(1) + e);
  return {s, chained(chained(s, e * s), x.d)};
}
/// if_true where c holds, else if_false.
template <class A, class B>
MTF_FUNCTION auto where(bool c, A if_true, B if_false) {
  using R = mixed_t<A, B>;
  return c ? R(if_true) : R(if_false);
}
/// Where the two are equal, each has half of the derivative.
template <class A, class B>
MTF_FUNCTION constexpr auto max(A a, B b) {
  using R = mixed_t<A, B>;
  R const x = a, y = b;
  auto const both = (x.d + y.d) / 2;
  return R(max(x.v, y.v), x.v > y.v ? x.d : x.v < y.v ? y.d : both);
}
template <class A, class B>
MTF_FUNCTION constexpr auto min(A a, B b) {
  using R = mixed_t<A, B>;
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
template <class T>
MTF_FUNCTION dual<T> silu(dual<T> x) {
  T const e = exp(-x.v), s = T(1) / (T(1) + e);
  return {x.v / (T(1) + e), chained(s + x.v * chained(s, e * s), x.d)};
}
/// The tanh approximation of Hendrycks & Gimpel 2016, as GPT-2 uses it.
template <class X>
MTF_FUNCTION X gelu(X x) {
  using T = number_t<X>;
  return T(0.5) * x * (T(1) + tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
}
// The square is kept so small that the slope's factors stay finite: the hyperbolic tangent is 1 long before.
template <class T>
MTF_FUNCTION dual<T> gelu(dual<T> x) {
  T const k = T(0.7978845608028654), c = T(0.044715), square = x.v * x.v, most = T(1e6);
  T const z = bitwise_select(square > most, most, square);
  T const t = tanh(k * x.v * (T(1) + c * z)), half = T(0.5) + T(0.5) * t;
  return {x.v * half, chained(half + T(0.5) * k * x.v * (T(1) - t * t) * (T(1) + T(3) * c * z), x.d)};
}
/// x Phi(x), Phi the normal distribution function, by the error function: GELU as it is defined, of which `gelu` is an
/// approximation. At -infinity it is 0.
template <detail::number T>
MTF_FUNCTION T gelu_erf(T x) {
  T const share = T(0.5) + T(0.5) * erf(x * T(0.70710678118654752440));
  return chained(share, x);
}
template <class T>
MTF_FUNCTION dual<T> gelu_erf(dual<T> x) {
  T const share = T(0.5) + T(0.5) * erf(x.v * T(0.70710678118654752440)),
          density = T(0.39894228040143267794) * exp(T(-0.5) * x.v * x.v);
  return {chained(share, x.v), chained(share + chained(density, x.v), x.d)};
}
/// x above 0, else alpha (e^x - 1), Clevert et al. 2015; the derivative at 0 is alpha.
template <detail::number T>
MTF_FUNCTION T elu(T x, number_t<T> alpha = 1) {
  return bitwise_select(x > T(0), x, static_cast<T>(alpha * expm1(x)));
}
template <class T>
MTF_FUNCTION dual<T> elu(dual<T> x, number_t<T> alpha = 1) {
  return {elu(x.v, alpha), chained(bitwise_select(x.v > T(0), T(1), alpha * exp(x.v)), x.d)};
}
/// elu, scaled so that layers of it keep mean 0 and variance 1 (Klambauer et al. 2017).
template <class X>
MTF_FUNCTION X selu(X x) {
  using T = number_t<X>;
  return T(1.05070098735548049342) * elu(x, T(1.67326324235437728482));
}
/// x above 0, else slope x; the derivative at 0 is the slope.
template <class X>
MTF_FUNCTION constexpr X leaky_relu(X x, number_t<X> slope) {
  return x > X(0) ? x : x * slope;
}
/// Whether `whole_power` takes this exponent.
template <detail::number N>
constexpr bool is_whole_exponent(N n) {
  if constexpr (std::is_integral_v<N>)
    return std::in_range<std::int32_t>(+n);
  else
    return n >= N(-0x1p31) && n < N(0x1p31) && static_cast<N>(static_cast<std::int32_t>(n)) == n;
}
/// x^n as products, and for n < 0 one division; x^0 is 1. n >= 0 for integers.
template <class X>
MTF_FUNCTION constexpr auto whole_power(X x, std::int32_t n) {
  using R = decltype(x * x);
  R power = x, y = number_t<R>(1);
  for (auto left = n < 0 ? 0U - static_cast<std::uint32_t>(n) : static_cast<std::uint32_t>(n); left != 0; left >>= 1U) {
    if ((left & 1U) != 0) y = y * power;
    if (left > 1) power = power * power;
  }
  if constexpr (!std::is_integral_v<R>)
    if (n < 0) return R(number_t<R>(1) / y);
  return y;
}
/// x^y; of a negative x for whole y only, else NaN; x^0 is 1.
template <detail::number A, detail::number B>
MTF_FUNCTION auto pow(A x, B y) {
  using T = std::common_type_t<A, B>;
  auto const base = static_cast<T>(x), exponent = static_cast<T>(y);
  T const size = exp(log(abs(base)) * exponent), half = exponent / 2;
  bool const whole = library_floor(exponent) == exponent, even = library_floor(half) == half;
  T const of_negative = whole ? (even ? size : -size) : std::numeric_limits<T>::quiet_NaN();
  T const power = base < T(0) ? of_negative : size;
  return exponent == T(0) ? T(1) : power;
}
/// x^y log(x), and at 0 its limit for y > 0.
template <detail::number T>
MTF_FUNCTION T slope_of_exponent(T x, T power) {
  return bitwise_select(x == T(0), T(0), chained(power, log(x)));
}
template <class T>
MTF_FUNCTION dual<T> pow(dual<T> x, dual<T> y) {
  T const power = pow(x.v, y.v), slope = chained(y.v, pow(x.v, y.v - T(1)));
  return {power, chained(slope, x.d) + chained(slope_of_exponent(x.v, power), y.d)};
}
template <class T, detail::number B>
MTF_FUNCTION dual<T> pow(dual<T> x, B y) {
  auto const exponent = static_cast<T>(y);
  return {pow(x.v, exponent), chained(chained(exponent, pow(x.v, exponent - T(1))), x.d)};
}
template <detail::number A, class T>
MTF_FUNCTION dual<T> pow(A x, dual<T> y) {
  auto const base = static_cast<T>(x);
  T const power = pow(base, y.v);
  return {power, chained(slope_of_exponent(base, power), y.d)};
}
/// log(1 + e^x): relu without its corner (Dugas et al. 2001). Within 3 ulp for all x (log1p as Kahan has it).
template <detail::number T>
MTF_FUNCTION T softplus(T x) {
  T const e = exp(-abs(x)), u = T(1) + e;
  return (x > T(0) ? x : T(0)) + (u == T(1) ? e : log(u) * (e / (u - T(1))));
}
template <class T>
MTF_FUNCTION dual<T> softplus(dual<T> x) {
  return {softplus(x.v), chained(sigmoid(x.v), x.d)};
}
/// log(e^a + e^b), without overflow; where the two are equal, each has half of the derivative, infinities too.
template <detail::number A, detail::number B>
MTF_FUNCTION auto logaddexp(A a, B b) {
  using R = mixed_t<A, B>;
  R const x = static_cast<R>(a), y = static_cast<R>(b);
  return x == y ? x + R(0.69314718055994530942) : max(x, y) + softplus(-abs(x - y));
}
template <class A, class B>
MTF_FUNCTION auto logaddexp(A a, B b) {
  using R = mixed_t<A, B>;
  R const x = a, y = b;
  using T = number_t<R>;
  T const e = exp(-abs(x.v - y.v)), of_larger = T(1) / (T(1) + e), of_smaller = e * of_larger;
  bool const equal = x.v == y.v, first = x.v > y.v;
  T const of_x = bitwise_select(equal, T(0.5), bitwise_select(first, of_larger, of_smaller)),
          of_y = bitwise_select(equal, T(0.5), bitwise_select(first, of_smaller, of_larger));
  return R(logaddexp(x.v, y.v), chained(of_x, x.d) + chained(of_y, y.d));
}
/// -(target log s + (1 - target) log(1 - s)) of s = sigmoid(x), without overflow, and exact where it is near 0.
template <detail::number A, detail::number B>
MTF_FUNCTION auto sigmoid_cross_entropy(A logit, B target) {
  using R = mixed_t<A, B>;
  R const x = static_cast<R>(logit), z = static_cast<R>(target);
  R const wrong = x > R(0) ? R(1) - z : -z;
  return bitwise_select(wrong == R(0), R(0), wrong * x) + softplus(-abs(x));  // of an infinite logit too
}
template <class A, class B>
MTF_FUNCTION auto sigmoid_cross_entropy(A logit, B target) {
  using R = mixed_t<A, B>;
  R const x = logit, z = target;
  using T = number_t<R>;
  // sigmoid(x) - z, of which the part that is less than a half is not made of 1.
  T const less = sigmoid(-abs(x.v)), of_x = x.v > T(0) ? (T(1) - z.v) - less : less - z.v;
  return R(sigmoid_cross_entropy(x.v, z.v), chained(x.d, of_x) - chained(z.d, x.v));
}
/// x times what a function makes of its gate. Where that is flat, as of a closed gate, the gate has no gradient,
/// whatever x is.
template <detail::number A, detail::number B>
MTF_FUNCTION auto gated(A x, B opened) {
  return x * opened;
}
template <class A, class B>
MTF_FUNCTION auto gated(A x, B opened) {
  using R = mixed_t<A, B>;
  R const a = x, b = opened;
  return R(a.v * b.v, chained(a.d, b.v) + chained(b.d, a.v));
}
/// x sigmoid(gate): a gated linear unit (Dauphin et al. 2017); the others are of Shazeer 2020.
template <class A, class B>
MTF_FUNCTION auto glu(A x, B gate) {
  return gated(x, sigmoid(gate));
}
/// x gelu(gate), GELU by the hyperbolic tangent.
template <class A, class B>
MTF_FUNCTION auto geglu(A x, B gate) {
  return gated(x, gelu(gate));
}
/// x silu(gate)
template <class A, class B>
MTF_FUNCTION auto swiglu(A x, B gate) {
  return gated(x, silu(gate));
}
/// min(max(x, low), high); the derivative is 1 from low to high, both included.
template <detail::number T>
MTF_FUNCTION constexpr T clip(T x, number_t<T> low, number_t<T> high) {
  return min(max(x, low), high);
}
template <class T>
MTF_FUNCTION constexpr dual<T> clip(dual<T> x, number_t<T> low, number_t<T> high) {
  return {clip(x.v, low, high), x.v < low || x.v > high ? T(0) : x.d};
}

// Those of them that are operations on tensors too: the function objects (ops/elementwise/functions.hpp) and the
// operations (ops/elementwise/elementwise.hpp) are made of these lists. X(name, of floating-point tensors only).
#define MTF_FUNCTIONS_OF_ONE(X) \
  X(exp, true)                  \
  X(log, true)                  \
  X(sqrt, true)                 \
  X(rsqrt, true)                \
  X(tanh, true)                 \
  X(sigmoid, true)              \
  X(softplus, true)             \
  X(relu, false)                \
  X(gelu, true)                 \
  X(silu, true)                 \
  X(square, false)              \
  X(abs, false)                 \
  X(expm1, true)                \
  X(log1p, true)                \
  X(sin, true)                  \
  X(cos, true)                  \
  X(erf, true)                  \
  X(gelu_erf, true)             \
  X(selu, true)                 \
  X(reciprocal, true)
// Those that are flat but for steps.
#define MTF_STEPS(X) X(sign, false) X(floor, true) X(ceil, true) X(round, true)
// The same of two numbers.
#define MTF_FUNCTIONS_OF_TWO(X) X(max, false) X(min, false) X(pow, true) X(logaddexp, true) X(floor_divide, false)
// The same, linear in the first, the second being a gate.
#define MTF_GATES(X) X(glu, true) X(geglu, true) X(swiglu, true)
// X(name, operator).
#define MTF_COMPARISONS(X) X(less, <) X(greater, >) X(less_equal, <=) X(greater_equal, >=) X(equal, ==) X(not_equal, !=)

}  // namespace mtf::math
