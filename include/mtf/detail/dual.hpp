#pragma once
// Dual numbers: a value with its derivative in one direction. Calling a function object on them differentiates it.
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mtf/detail/config.hpp>
#include <mtf/detail/pack.hpp>

namespace mtf::detail {

template <class T>
struct dual {
  T v{}, d{};
  constexpr dual() = default;
  MTF_FUNCTION constexpr dual(T value) : v(value) {}  // NOLINT: implicit by purpose, constants mix with duals
  MTF_FUNCTION constexpr dual(T value, T derivative) : v(value), d(derivative) {}
  template <class N>
    requires(std::is_arithmetic_v<N> && !std::is_same_v<N, T>)
  MTF_FUNCTION constexpr dual(N n) : v(static_cast<T>(n)) {}  // NOLINT

  friend MTF_FUNCTION constexpr dual operator-(dual a) { return {-a.v, -a.d}; }
  friend MTF_FUNCTION constexpr dual operator+(dual a, dual b) { return {a.v + b.v, a.d + b.d}; }
  friend MTF_FUNCTION constexpr dual operator+(dual a, T b) { return {a.v + b, a.d}; }
  friend MTF_FUNCTION constexpr dual operator+(T a, dual b) { return {a + b.v, b.d}; }
  friend MTF_FUNCTION constexpr dual operator-(dual a, dual b) { return {a.v - b.v, a.d - b.d}; }
  friend MTF_FUNCTION constexpr dual operator-(dual a, T b) { return {a.v - b, a.d}; }
  friend MTF_FUNCTION constexpr dual operator-(T a, dual b) { return {a - b.v, -b.d}; }
  friend MTF_FUNCTION constexpr dual operator*(dual a, dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
  friend MTF_FUNCTION constexpr dual operator*(dual a, T b) { return {a.v * b, a.d * b}; }
  friend MTF_FUNCTION constexpr dual operator*(T a, dual b) { return {a * b.v, a * b.d}; }
  friend MTF_FUNCTION constexpr dual operator/(dual a, dual b) {
    T const q = a.v / b.v;
    return {q, (a.d - q * b.d) / b.v};
  }
  friend MTF_FUNCTION constexpr dual operator/(dual a, T b) { return {a.v / b, a.d / b}; }
  friend MTF_FUNCTION constexpr dual operator/(T a, dual b) {
    T const q = a / b.v;
    return {q, -q * b.d / b.v};
  }
  friend MTF_FUNCTION constexpr bool operator<(dual a, dual b) { return a.v < b.v; }
  friend MTF_FUNCTION constexpr bool operator>(dual a, dual b) { return a.v > b.v; }
  friend MTF_FUNCTION constexpr bool operator<=(dual a, dual b) { return a.v <= b.v; }
  friend MTF_FUNCTION constexpr bool operator>=(dual a, dual b) { return a.v >= b.v; }
  friend MTF_FUNCTION constexpr bool operator==(dual a, dual b) { return a.v == b.v; }
};

template <class T>
inline constexpr bool is_dual = false;
template <class T>
inline constexpr bool is_dual<dual<T>> = true;

/// The type in which a mix of numbers and duals is computed.
template <class A, class B>
struct mixed : std::common_type<A, B> {};
template <class A, class B>
struct mixed<dual<A>, dual<B>> {
  using type = dual<A>;
};
template <class A, class B>
struct mixed<dual<A>, B> {
  using type = dual<A>;
};
template <class A, class B>
struct mixed<A, dual<B>> {
  using type = dual<B>;
};
template <class A, class B>
using mixed_t = typename mixed<A, B>::type;

template <std::size_t I, std::size_t J, class X>
MTF_FUNCTION constexpr auto seeded(X x) {
  if constexpr (I == J)
    return dual<X>(x, X(1));
  else
    return x;
}

template <std::size_t I, class F, std::size_t... J, class... X>
MTF_FUNCTION constexpr auto derivative_of(F const& f, std::index_sequence<J...>, X... x) {
  auto const y = f(seeded<I, J>(x)...);
  if constexpr (is_dual<std::remove_const_t<decltype(y)>>)
    return y.d;
  else
    return nth<I, X...>(0);
}

/// The derivative of f in its I-th argument at x. Arguments other than the I-th stay plain numbers, so that nothing
/// multiplies by a zero derivative.
template <std::size_t I, class F, class... X>
MTF_FUNCTION constexpr auto derivative(F const& f, X... x) {
  return derivative_of<I>(f, std::index_sequence_for<X...>{}, x...);
}

}  // namespace mtf::detail
