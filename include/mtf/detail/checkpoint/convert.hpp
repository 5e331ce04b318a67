#pragma once
// Elements of files as elements of tensors.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include <mtf/core/element.hpp>

namespace mtf::detail {

/// IEEE half precision, which files have and tensors do not.
struct half {
  std::uint16_t bits;
  explicit operator float() const {
    std::uint32_t const sign = std::uint32_t{bits} >> 15U << 31U, exponent = bits >> 10U & 31U, fraction = bits & 1023U;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13U);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112U) << 23U | fraction << 13U);
    float const small = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -small : small;
  }
};

/// to[i] = from[i], the nearest that there is; false if an integer has no place in T. `from` need not be aligned.
template <class From, class T>
bool convert_elements(void const* from, T* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    From x;
    std::memcpy(&x, static_cast<char const*>(from) + i * sizeof(From), sizeof(From));
    if constexpr (std::is_same_v<T, bool>) {
      to[i] = x != 0;
    } else if constexpr (std::is_integral_v<From>) {
      if constexpr (sizeof(From) > sizeof(T) || (std::is_unsigned_v<From> && sizeof(From) == sizeof(T)))
        if (x > static_cast<From>(std::numeric_limits<T>::max()) ||
            (std::is_signed_v<From> && x < static_cast<From>(std::numeric_limits<T>::min())))
          return false;
      to[i] = static_cast<T>(x);  // NOLINT(bugprone-signed-char-misuse): a number, not a letter
    } else if constexpr (std::is_same_v<T, double> && std::is_same_v<From, double>) {
      to[i] = x;
    } else if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float>) {
      to[i] = static_cast<T>(static_cast<float>(x));
    } else {
      to[i] = static_cast<T>(static_cast<std::conditional_t<std::is_same_v<From, double>, double, float>>(x));
    }
  }
  return true;
}

/// Calls f<From>() for a type of files from which T can be read: floating from floating, integers from integers, bool
/// from bool. False: there is none.
template <class T, class F>
bool with_stored_type(std::string_view type, F const& f) {
  auto const is = [&]<class From>(std::string_view name) {
    if (type != name) return false;
    f.template operator()<From>();
    return true;
  };
  if constexpr (std::is_same_v<T, bool>)
    return is.template operator()<std::uint8_t>("BOOL");
  else if constexpr (is_floating<T>)
    return is.template operator()<float>("F32") || is.template operator()<bfloat16>("BF16") ||
           is.template operator()<half>("F16") || is.template operator()<double>("F64");
  else
    return is.template operator()<std::int32_t>("I32") || is.template operator()<std::int64_t>("I64") ||
           is.template operator()<std::uint8_t>("U8") || is.template operator()<std::int8_t>("I8") ||
           is.template operator()<std::uint16_t>("U16") || is.template operator()<std::int16_t>("I16") ||
           is.template operator()<std::uint32_t>("U32") || is.template operator()<std::uint64_t>("U64");
}

/// What reads elements of a type of files as an `element`; null where that would change what they mean.
using converter = bool (*)(void const* from, void* to, std::size_t n);
template <class T>
converter converter_to(std::string_view stored) {
  converter found = nullptr;
  with_stored_type<T>(stored, [&]<class From>() {
    found = [](void const* from, void* to, std::size_t n) {
      return convert_elements<From>(from, static_cast<T*>(to), n);
    };
  });
  return found;
}
inline converter converter_for(std::string_view stored, element to) {
  switch (to) {
    case element::f32:
      return converter_to<float>(stored);
    case element::f64:
      return converter_to<double>(stored);
    case element::bf16:
      return converter_to<bfloat16>(stored);
    case element::i32:
      return converter_to<std::int32_t>(stored);
    case element::i64:
      return converter_to<std::int64_t>(stored);
    case element::boolean:
      return converter_to<bool>(stored);
  }
  return nullptr;
}

}  // namespace mtf::detail
