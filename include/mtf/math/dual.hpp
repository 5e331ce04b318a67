#pragma once
// Dual numbers: a value with its derivative in one direction. Calling a function object on them differentiates it.
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mtf/core/host_device.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/math/fast_math.hpp>

namespace mtf {

/// A function given to map calls one of plain numbers, which has no derivative.
template <class Number>
struct error_no_derivative : detail::failed {};

namespace detail {

template <class N, class... By>
struct require<error_no_derivative<N>, By...> {
  static_assert(
      never<N>,
      MTF_SENTENCE(
          "mtf: a function given to map calls one of plain numbers, such as std::exp, so it has no derivative: call "
          "mtf::math::exp; or, where none is wanted, give its argument a type, [](float x)",
          N));
};

}  // namespace detail

}  // namespace mtf

namespace mtf::math {

/// A built-in number, and no dual one.
template <class N>
concept plain_number = std::is_arithmetic_v<N>;

/// outer inner, of derivatives in a chain: 0 where the outer one is 0, also if the inner one has overflowed. A flat
/// function passes nothing on: 1 / (1 + e^-x) where e^-x is infinite. Constants, which most inner ones are, are not
/// tested.
template <class T>
MTF_FUNCTION constexpr T chained(T outer, T inner) {
  T const product = static_cast<T>(outer * inner);
  if constexpr (std::is_floating_point_v<T>) {
#if defined(__GNUC__) && !defined(__CUDACC__)
    if (__builtin_constant_p(inner)) return product;
#endif
    return bitwise_select(outer == T(0), T(0), product);
  } else {
    return product;
  }
}

/// F returns one of its arguments, or none. An argument that it does not return gets no gradient, not even of an
/// infinite one.
template <class F>
inline constexpr bool selects = false;

/// A value v and its derivative d. Arithmetic and comparisons mix duals with plain numbers; comparisons see the value
/// alone.
template <class T>
struct dual {
  T v{}, d{};
  constexpr dual() = default;
  MTF_FUNCTION constexpr dual(T value) : v(value) {}  // NOLINT: implicit by purpose, constants mix with duals
  MTF_FUNCTION constexpr dual(T value, T derivative) : v(value), d(derivative) {}
  template <plain_number N>
    requires(!std::is_same_v<N, T>)
  MTF_FUNCTION constexpr dual(N n) : v(static_cast<T>(n)) {}  // NOLINT

  friend MTF_FUNCTION constexpr dual operator-(dual a) { return {-a.v, -a.d}; }
  friend MTF_FUNCTION constexpr dual operator+(dual a, dual b) { return {a.v + b.v, a.d + b.d}; }
  friend MTF_FUNCTION constexpr dual operator-(dual a, dual b) { return {a.v - b.v, a.d - b.d}; }
  friend MTF_FUNCTION constexpr dual operator*(dual a, dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
  friend MTF_FUNCTION constexpr dual operator/(dual a, dual b) {
    T const q = a.v / b.v;
    return {q, (a.d - chained(q, b.d)) / b.v};
  }

  // With numbers of any type, exactly: the conversion below must not make these ambiguous.
  template <plain_number N>
  friend MTF_FUNCTION constexpr dual operator+(dual a, N b) {
    return {a.v + static_cast<T>(b), a.d};
  }
  template <plain_number N>
  friend MTF_FUNCTION constexpr dual operator+(N a, dual b) {
    return {static_cast<T>(a) + b.v, b.d};
  }
  template <plain_number N>
  friend MTF_FUNCTION constexpr dual operator-(dual a, N b) {
    return {a.v - static_cast<T>(b), a.d};
  }
  template <plain_number N>
  friend MTF_FUNCTION constexpr dual operator-(N a, dual b) {
    return {static_cast<T>(a) - b.v, -b.d};
  }
  template <plain_number N>
  friend MTF_FUNCTION constexpr dual operator*(dual a, N b) {
    return {a.v * static_cast<T>(b), a.d * static_cast<T>(b)};
  }
  template <plain_number N>
  friend MTF_FUNCTION constexpr dual operator*(N a, dual b) {
    return {static_cast<T>(a) * b.v, static_cast<T>(a) * b.d};
  }
  template <plain_number N>
  friend MTF_FUNCTION constexpr dual operator/(dual a, N b) {
    return {a.v / static_cast<T>(b), a.d / static_cast<T>(b)};
  }
  template <plain_number N>
  friend MTF_FUNCTION constexpr dual operator/(N a, dual b) {
    T const q = static_cast<T>(a) / b.v;
    return {q, -chained(q, b.d) / b.v};
  }

#define MTF_COMPARE(OP)                                                                 \
  friend MTF_FUNCTION constexpr bool operator OP(dual a, dual b) { return a.v OP b.v; } \
  template <plain_number N>                                                             \
  friend MTF_FUNCTION constexpr bool operator OP(dual a, N b) {                         \
    return a.v OP static_cast<T>(b);                                                    \
  }                                                                                     \
  template <plain_number N>                                                             \
  friend MTF_FUNCTION constexpr bool operator OP(N a, dual b) {                         \
    return static_cast<T>(a) OP b.v;                                                    \
  }
  MTF_COMPARE(<)
  MTF_COMPARE(>)
  MTF_COMPARE(<=)
  MTF_COMPARE(>=)
  MTF_COMPARE(==)
#undef MTF_COMPARE

  /// A function of plain numbers, such as std::exp, was called: it has no derivative. The widest type alone, and only
  /// where just that is wanted: one overload of std::exp fits, and in `x > 0 ? x : 0.0f` the number becomes a dual.
  template <class N>
    requires std::is_same_v<N, long double>
  operator N() const {  // NOLINT: implicit by purpose
    static_cast<void>(mtf::detail::require<error_no_derivative<T>>{});
    return {};
  }
};

/// T is a dual number.
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
/// The type in which a mix of numbers and duals is computed.
template <class A, class B>
using mixed_t = typename mixed<A, B>::type;

/// x as argument J of a function that is differentiated in its I-th: a dual number of derivative 1, or x itself.
template <std::size_t I, std::size_t J, class X>
MTF_FUNCTION constexpr auto seeded(X x) {
  if constexpr (I == J)
    return dual<X>(x, X(1));
  else
    return x;
}

/// has_derivative, with the indices of the arguments.
template <std::size_t I, class F, class Indices, class... X>
inline constexpr bool has_derivative_of = false;
template <std::size_t I, class F, std::size_t... J, class... X>
inline constexpr bool has_derivative_of<I, F, std::index_sequence<J...>, X...> =
    std::is_invocable_v<F const&, std::conditional_t<I == J, dual<X>, X>...>;
/// Can f, a function of numbers X, be called with a dual number as its I-th argument? Otherwise it has no derivative
/// there.
template <std::size_t I, class F, class... X>
inline constexpr bool has_derivative = has_derivative_of<I, F, std::index_sequence_for<X...>, X...>;

/// derivative, with the indices of the arguments; f has one.
template <std::size_t I, class F, std::size_t... J, class... X>
MTF_FUNCTION constexpr auto derivative_of(F const& f, std::index_sequence<J...>, X... x) {
  auto const y = f(seeded<I, J>(x)...);
  if constexpr (is_dual<std::remove_const_t<decltype(y)>>)
    return y.d;
  else
    return mtf::detail::nth<I, X...>(0);
}

/// The derivative of f in its I-th argument at x; 0 where it has none, which nobody asks for (map.hpp). Arguments other
/// than the I-th stay plain numbers, so that nothing multiplies by a zero derivative.
template <std::size_t I, class F, class... X>
MTF_FUNCTION constexpr auto derivative(F const& f, X... x) {
  if constexpr (has_derivative<I, F, X...>)
    return derivative_of<I>(f, std::index_sequence_for<X...>{}, x...);
  else
    return mtf::detail::nth<I, X...>(0);
}

}  // namespace mtf::math
