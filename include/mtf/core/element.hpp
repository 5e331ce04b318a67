#pragma once
// Element types: float, double, bfloat16, 32- and 64-bit integers, bool. bfloat16 is for storage: kernels compute and
// accumulate it in float (docs/design/numbers.md, "Element types").
#include <bit>
#include <cstdint>
#include <type_traits>

#include <mtf/core/host_device.hpp>

namespace mtf {

/// The upper half of a float: 8 bits of exponent, 7 of mantissa. Conversion from float rounds to nearest, ties to even.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  MTF_FUNCTION constexpr explicit bfloat16(float x) {
    auto const u = std::bit_cast<std::uint32_t>(x);
    bool const nan = (u & 0x7fffffffU) > 0x7f800000U;
    bits = nan ? static_cast<std::uint16_t>((u >> 16U) | 0x40U)
               : static_cast<std::uint16_t>((u + 0x7fffU + ((u >> 16U) & 1U)) >> 16U);
  }
  MTF_FUNCTION constexpr explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
  friend MTF_FUNCTION constexpr bool operator==(bfloat16 a, bfloat16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
};

/// The element types as a value, for interfaces that see bytes only.
enum class element : std::uint8_t { f32, f64, bf16, i32, i64, boolean };

/// T is an element type of tensors.
template <class T>
inline constexpr bool is_element =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bfloat16> ||
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool>;

/// T is float, double or bfloat16.
template <class T>
inline constexpr bool is_floating = std::is_floating_point_v<T> || std::is_same_v<T, bfloat16>;

/// An element type as a value.
template <class T>
  requires is_element<T>
inline constexpr element element_of = std::is_same_v<T, float>          ? element::f32
                                      : std::is_same_v<T, double>       ? element::f64
                                      : std::is_same_v<T, bfloat16>     ? element::bf16
                                      : std::is_same_v<T, std::int32_t> ? element::i32
                                      : std::is_same_v<T, std::int64_t> ? element::i64
                                                                        : element::boolean;

/// The bytes of one element.
constexpr int bytes_of(element e) {
  switch (e) {
    case element::f64:
    case element::i64:
      return 8;
    case element::f32:
    case element::i32:
      return 4;
    case element::bf16:
      return 2;
    case element::boolean:
      return 1;
  }
  return 0;
}

/// The type in which a kernel computes on elements of type T: float for bfloat16, T otherwise.
template <class T>
using compute_t = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

}  // namespace mtf
