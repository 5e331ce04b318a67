#pragma once
// The larger and the smaller of two numbers, as maximum and minimum of IEEE 754-2019: NaN where one of them is, and -0
// less than 0. So those of many numbers are the same to the bit in whatever order ranks and lanes take them.
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <mtf/core/host_device.hpp>

namespace mtf::math {

/// Integers that stand for numbers of type T, in their order.
template <class T>
using order_t = std::conditional_t<std::is_same_v<T, float>, std::int32_t,
                                   std::conditional_t<std::is_same_v<T, double>, std::int64_t, T>>;

/// What the bits of a floating number, with those of the magnitude inverted if it is negative, lack to its place:
/// -infinity is first; all NaN, of either sign, come after infinity.
template <class T>
inline constexpr auto order_shift =
    std::bit_cast<std::make_unsigned_t<order_t<T>>>(std::numeric_limits<T>::infinity()) +
    static_cast<std::make_unsigned_t<order_t<T>>>(std::numeric_limits<order_t<T>>::min()) + 1U;

/// The bits with those of the magnitude inverted if the sign is set.
template <class I>
MTF_FUNCTION constexpr I with_magnitude_in_order(I bits) {
  return bits ^ ((bits >> (8 * static_cast<int>(sizeof(I)) - 1)) & std::numeric_limits<I>::max());
}

/// The place of x; of an integer or bool itself.
template <class T>
MTF_FUNCTION constexpr order_t<T> order_of(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<order_t<T>>(
        static_cast<std::make_unsigned_t<order_t<T>>>(with_magnitude_in_order(std::bit_cast<order_t<T>>(x))) +
        order_shift<T>);
  else
    return x;
}
/// The number whose place it is.
template <class T>
MTF_FUNCTION constexpr T number_at(order_t<T> place) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(with_magnitude_in_order(
        static_cast<order_t<T>>(static_cast<std::make_unsigned_t<order_t<T>>>(place) - order_shift<T>)));
  else
    return place;
}
/// Numbers in reverse order; its own inverse.
template <class T>
MTF_FUNCTION constexpr T reversed(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return !x;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(~x);
  else
    return -x;
}

/// The larger of two numbers of one type, in the order of `order_of`.
template <class T>
MTF_FUNCTION constexpr T larger(T a, T b) {
  return order_of(a) < order_of(b) ? b : a;
}
/// The smaller of two numbers of one type: NaN if one is NaN.
template <class T>
MTF_FUNCTION constexpr T smaller(T a, T b) {
  return order_of(reversed(a)) < order_of(reversed(b)) ? b : a;
}

}  // namespace mtf::math
