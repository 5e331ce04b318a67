#pragma once
// Whole numbers: rounding, signs, and quotients that are rounded. Functions that are flat but for steps have the
// derivative 0, at the steps too.
#include <limits>
#include <type_traits>

#include <mtf/core/host_device.hpp>
#include <mtf/math/dual.hpp>
#include <mtf/math/fast_math.hpp>

namespace mtf::math {

/// -1, 0 or 1, as x is below, at or above 0; of NaN NaN.
template <plain_number T>
MTF_FUNCTION constexpr T sign(T x) {
  return x > T(0) ? T(1) : x == T(0) ? T(0) : x < T(0) ? T(-1) : x;
}
/// The largest whole number that is not larger.
template <plain_number T>
MTF_FUNCTION T floor(T x) {
  return library_floor(x);
}
/// The smallest whole number that is not smaller.
template <plain_number T>
MTF_FUNCTION T ceil(T x) {
  return library_ceil(x);
}
/// The nearest whole number; of two that are as near the even one.
template <plain_number T>
MTF_FUNCTION T round(T x) {
  return library_round(x);
}

template <class T>
MTF_FUNCTION constexpr dual<T> sign(dual<T> x) {
  return sign(x.v);
}
template <class T>
MTF_FUNCTION dual<T> floor(dual<T> x) {
  return floor(x.v);
}
template <class T>
MTF_FUNCTION dual<T> ceil(dual<T> x) {
  return ceil(x.v);
}
template <class T>
MTF_FUNCTION dual<T> round(dual<T> x) {
  return round(x.v);
}

/// a / b; of integers as in C++, towards zero, and 0 where C++ leaves it undefined: by zero, and the lowest by -1.
template <class A, class B>
MTF_FUNCTION constexpr auto divide(A a, B b) {
  using R = decltype(a / b);
  if constexpr (std::is_integral_v<R>) {
    R const x = a, y = b;
    bool const defined = y != 0 && (y != -1 || x != std::numeric_limits<R>::lowest());
    return defined ? static_cast<R>(x / y) : R(0);
  } else {
    return a / b;
  }
}

/// a / b rounded down, as Python's a // b; of integers 0 where C++ leaves the quotient undefined. The derivatives are
/// 0.
template <plain_number A, plain_number B>
MTF_FUNCTION auto floor_divide(A a, B b) {
  using R = decltype(a / b);
  R const x = static_cast<R>(a), y = static_cast<R>(b);
  if constexpr (std::is_integral_v<R>) {
    R const quotient = divide(x, y);
    return y != 0 && quotient * y != x && (x < 0) != (y < 0) ? static_cast<R>(quotient - 1) : quotient;
  } else {
    // x / y may be rounded to a whole number that is too large, so what is left of x decides.
    R const left = library_remainder(x, y), multiple = (x - left) / y;
    R const below = left != R(0) && (left < R(0)) != (y < R(0)) ? multiple - R(1) : multiple;
    R const down = library_floor(below), whole = below - down > R(0.5) ? down + R(1) : down;
    return x == R(0) || y == R(0) ? x / y : whole == R(0) ? R(0) : whole;
  }
}
template <class A, class B>
MTF_FUNCTION auto floor_divide(A a, B b) {
  using R = mixed_t<A, B>;
  R const x = a, y = b;
  return R(floor_divide(x.v, y.v));
}
/// What floor_divide leaves of a, with the sign of b, as Python's a % b; of integers 0 for b = 0.
template <plain_number A, plain_number B>
MTF_FUNCTION auto remainder(A a, B b) {
  using R = decltype(a / b);
  R const x = static_cast<R>(a), y = static_cast<R>(b);
  if constexpr (std::is_integral_v<R>) {
    R const left = y != 0 && y != -1 ? static_cast<R>(x % y) : R(0);
    return left != 0 && (left < 0) != (y < 0) ? static_cast<R>(left + y) : left;
  } else {
    R const left = library_remainder(x, y), moved = (left < R(0)) != (y < R(0)) ? left + y : left;
    return left == R(0) ? (y < R(0) ? -R(0) : R(0)) : moved;
  }
}
template <class A, class B>
MTF_FUNCTION auto remainder(A a, B b) {
  using R = mixed_t<A, B>;
  R const x = a, y = b;
  return R(remainder(x.v, y.v), x.d - chained(y.d, floor_divide(x.v, y.v)));
}

}  // namespace mtf::math
