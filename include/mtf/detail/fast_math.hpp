#pragma once
// exp, log, tanh and square root of float that compilers vectorize: straight-line code without calls. GCC keeps calls
// to std::exp, and to std::sqrt for its errno, scalar unless -ffast-math changes the meaning of everything else. double
// goes to the standard library, device code to the device's own functions.
#include <bit>
#include <cstdint>
#include <limits>

#include <mtf/detail/config.hpp>

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define MTF_DEVICE_PASS
#endif

// Out of line, one call keeps the whole loop around it from being vectorized.
#define MTF_INLINE [[gnu::always_inline]] MTF_FUNCTION inline

namespace mtf::detail {

// The standard library's functions. As builtins: <cmath>, with all of its special functions, would be a fifth of what
// including mtf costs.
#if defined(MTF_DEVICE_PASS)
MTF_INLINE double fast_exp(double x) { return ::exp(x); }
MTF_INLINE double fast_log(double x) { return ::log(x); }
MTF_INLINE double fast_tanh(double x) { return ::tanh(x); }
MTF_INLINE double library_sqrt(double x) { return ::sqrt(x); }
MTF_INLINE double library_floor(double x) { return ::floor(x); }
MTF_INLINE float library_floor(float x) { return ::floorf(x); }
MTF_INLINE float library_sqrt(float x) { return ::sqrtf(x); }
#else
MTF_INLINE double fast_exp(double x) { return __builtin_exp(x); }
MTF_INLINE double fast_log(double x) { return __builtin_log(x); }
MTF_INLINE double fast_tanh(double x) { return __builtin_tanh(x); }
MTF_INLINE double library_sqrt(double x) { return __builtin_sqrt(x); }
MTF_INLINE double library_floor(double x) { return __builtin_floor(x); }
MTF_INLINE float library_floor(float x) { return __builtin_floorf(x); }
MTF_INLINE float library_sqrt(float x) { return __builtin_sqrtf(x); }
#endif
MTF_INLINE double fast_exp_down(double x) { return fast_exp(x); }
MTF_INLINE double fast_sqrt(double x) { return library_sqrt(x); }
inline double library_cos(double x) { return __builtin_cos(x); }
inline double library_pow(double x, double y) { return __builtin_pow(x, y); }

#if defined(MTF_DEVICE_PASS)

MTF_INLINE float fast_exp(float x) { return ::expf(x); }
MTF_INLINE float fast_exp_down(float x) { return ::expf(x); }
MTF_INLINE float fast_log(float x) { return ::logf(x); }
MTF_INLINE float fast_tanh(float x) { return ::tanhf(x); }
MTF_INLINE float fast_sqrt(float x) { return ::sqrtf(x); }

#else

/// 2^n for -126 <= n <= 127.
MTF_INLINE float power_of_two(std::uint32_t n) { return std::bit_cast<float>((n + 127U) << 23U); }

/// e^(x - n ln 2) for the integer n nearest to x / ln 2.
MTF_INLINE float exp_of_rest(float x, float n) {
  float r = x - n * 0x1.62e4p-1F;  // ln 2 in two parts: the first product is exact
  r = r - n * 0x1.7f7d1cp-20F;
  float p = 0x1.a01a02p-13F;
  p = p * r + 0x1.6c16c2p-10F;
  p = p * r + 0x1.111112p-7F;
  p = p * r + 0x1.555556p-5F;
  p = p * r + 0x1.555556p-3F;
  p = p * r + 0.5F;
  p = p * (r * r) + r;
  return p + 1.0F;
}

/// Adding it rounds to an integer, which is then in the low bits.
inline constexpr float rounding_shift = 0x1.8p23F;

/// e^x to 1 ulp, with gradual underflow, overflow to infinity, and NaN kept.
MTF_INLINE float fast_exp(float x) {
  constexpr float lowest = -104.0F, highest = 89.0F;  // beyond them the result is 0 or infinity all the same
  x = x < lowest ? lowest : x;
  x = x > highest ? highest : x;
  float const shifted = x * 0x1.715476p0F + rounding_shift;
  float const p = exp_of_rest(x, shifted - rounding_shift);
  // 2^n in two factors, since n reaches beyond the exponents of normal numbers.
  auto const i = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(rounding_shift);
  std::int32_t const half = i >> 1;
  return p * power_of_two(static_cast<std::uint32_t>(half)) * power_of_two(static_cast<std::uint32_t>(i - half));
}

/// condition ? a : b without a branch: GCC moves what only one side needs into a branch, and then does not vectorize.
MTF_INLINE float bitwise_select(bool condition, float a, float b) {
  std::uint32_t const mask = 0U - static_cast<std::uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) | (std::bit_cast<std::uint32_t>(b) & ~mask));
}

/// fast_exp for x < 88 in half the time: 0 where the result would not be a normal number. NaN is kept.
MTF_INLINE float fast_exp_down(float x) {
  // n + 127 is in the low bits of `shifted`: moved to the exponent's place it is 2^n. (Of a NaN there may be anything.)
  constexpr float biased_shift = rounding_shift + 127.0F;
  float const shifted = x * 0x1.715476p0F + biased_shift;
  float const power = std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23U);
  return bitwise_select(x < -87.0F, 0.0F, exp_of_rest(x, shifted - biased_shift) * power);
}

/// The natural logarithm to 2 ulp; of 0 -infinity, of negative numbers NaN.
MTF_INLINE float fast_log(float x) {
  std::uint32_t const lift = x < 0x1p-126F ? 23U : 0U;
  auto const bits = std::bit_cast<std::uint32_t>(x * power_of_two(lift));
  // The mantissa in [sqrt(1/2), sqrt(2)), so that the logarithm of numbers near 1 does not cancel.
  std::uint32_t const from_root = bits - 0x3f3504f3U;
  auto const exponent =
      static_cast<float>((static_cast<std::int32_t>(from_root) >> 23) - static_cast<std::int32_t>(lift));
  float const r = std::bit_cast<float>((from_root & 0x7fffffU) + 0x3f3504f3U) - 1.0F;
  float const r2 = r * r;
  float p = 7.0376836292e-2F;
  p = p * r - 1.1514610310e-1F;
  p = p * r + 1.1676998740e-1F;
  p = p * r - 1.2420140846e-1F;
  p = p * r + 1.4249322787e-1F;
  p = p * r - 1.6668057665e-1F;
  p = p * r + 2.0000714765e-1F;
  p = p * r - 2.4999993993e-1F;
  p = p * r + 3.3333331174e-1F;
  float y = p * r * r2 + exponent * -2.12194440e-4F;
  y = y - 0.5F * r2;
  float result = r + y + exponent * 0.693359375F;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  result = bitwise_select(x < infinity, result, x);  // infinity and NaN
  result = bitwise_select(x < 0.0F, std::numeric_limits<float>::quiet_NaN(), result);
  return bitwise_select(x == 0.0F, -infinity, result);
}

/// The hyperbolic tangent to 5 ulp, 1 from 9 on: a rational approximation, twice as fast as one by fast_exp.
MTF_INLINE float fast_tanh(float x) {
  constexpr float bound = 7.90531110763549805F;
  float c = x < -bound ? -bound : x;
  c = c > bound ? bound : c;
  float const z = c * c;
  float p = -2.76076847742355e-16F;
  p = p * z + 2.00018790482477e-13F;
  p = p * z - 8.60467152213735e-11F;
  p = p * z + 5.12229709037114e-08F;
  p = p * z + 1.48572235717979e-05F;
  p = p * z + 6.37261928875436e-04F;
  p = p * z + 4.89352455891786e-03F;
  float q = 1.19825839466702e-06F;
  q = q * z + 1.18534705686654e-04F;
  q = q * z + 2.26843463243900e-03F;
  q = q * z + 4.89352518554385e-03F;
  float y = c * p / q;
  y = z < 1.6e-7F ? x : y;
  y = x > 9.0F ? 1.0F : y;
  return x < -9.0F ? -1.0F : y;
}

/// The square root to 1 ulp; of negative and of subnormal numbers 0, of infinity infinity.
MTF_INLINE float fast_sqrt(float x) {
  float const positive = x < 0x1p-126F ? 1.0F : x;
  float r = std::bit_cast<float>(0x5f375a86U - (std::bit_cast<std::uint32_t>(positive) >> 1U));  // about 1 / sqrt(x)
  float const half = 0.5F * positive;
  r = r * (1.5F - half * r * r);
  r = r * (1.5F - half * r * r);
  r = r * (1.5F - half * r * r);
  float root = positive * r;
  root = root + 0.5F * r * (positive - root * root);
  root = x < std::numeric_limits<float>::infinity() ? root : x;
  return x < 0x1p-126F ? 0.0F : root;
}

#endif

}  // namespace mtf::detail

#undef MTF_DEVICE_PASS
