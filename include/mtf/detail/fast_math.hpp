#pragma once
// exp, log, tanh and square root of float that compilers vectorize: straight-line code without calls. GCC keeps calls to std::exp,
// and to std::sqrt for its errno, scalar unless -ffast-math changes the meaning of everything else. double goes to the standard library, device code to
// the device's own functions.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <mtf/detail/config.hpp>

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define MTF_DEVICE_PASS
#endif

// Out of line, one call keeps the whole loop around it from being vectorized.
#define MTF_INLINE [[gnu::always_inline]] MTF_FUNCTION inline

namespace mtf::detail {

MTF_INLINE double fast_exp(double x) { return std::exp(x); }
MTF_INLINE double fast_log(double x) { return std::log(x); }
MTF_INLINE double fast_tanh(double x) { return std::tanh(x); }
MTF_INLINE double fast_sqrt(double x) { return std::sqrt(x); }

#if defined(MTF_DEVICE_PASS)

MTF_INLINE float fast_exp(float x) { return ::expf(x); }
MTF_INLINE float fast_log(float x) { return ::logf(x); }
MTF_INLINE float fast_tanh(float x) { return ::tanhf(x); }
MTF_INLINE float fast_sqrt(float x) { return ::sqrtf(x); }

#else

/// 2^n for -126 <= n <= 127.
MTF_INLINE float power_of_two(std::uint32_t n) { return std::bit_cast<float>((n + 127U) << 23U); }

/// e^x to 1 ulp, with gradual underflow, overflow to infinity, and NaN kept.
MTF_INLINE float fast_exp(float x) {
  constexpr float lowest = -104.0F, highest = 89.0F;  // beyond them the result is 0 or infinity all the same
  x = x < lowest ? lowest : x;
  x = x > highest ? highest : x;
  constexpr float shift = 0x1.8p23F;  // adding it rounds to an integer, which is then in the low bits
  float const shifted = x * 0x1.715476p0F + shift;
  float const n = shifted - shift;
  float r = x - n * 0x1.62e4p-1F;  // ln 2 in two parts: the first product is exact
  r = r - n * 0x1.7f7d1cp-20F;
  float p = 0x1.a01a02p-13F;
  p = p * r + 0x1.6c16c2p-10F;
  p = p * r + 0x1.111112p-7F;
  p = p * r + 0x1.555556p-5F;
  p = p * r + 0x1.555556p-3F;
  p = p * r + 0.5F;
  p = p * (r * r) + r;
  p = p + 1.0F;
  // 2^n in two factors, since n reaches beyond the exponents of normal numbers.
  auto const i = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(shift);
  std::int32_t const half = i >> 1;
  return p * power_of_two(static_cast<std::uint32_t>(half)) * power_of_two(static_cast<std::uint32_t>(i - half));
}

/// The natural logarithm to 2 ulp; of 0 -infinity, of negative numbers NaN.
MTF_INLINE float fast_log(float x) {
  bool const subnormal = x < 0x1p-126F;
  float const scaled = subnormal ? x * 0x1p23F : x;
  auto const bits = std::bit_cast<std::uint32_t>(scaled);
  // The mantissa in [sqrt(1/2), sqrt(2)), so that the logarithm of numbers near 1 does not cancel.
  std::uint32_t const from_root = bits - 0x3f3504f3U;
  auto const exponent = static_cast<float>(static_cast<std::int32_t>(from_root) >> 23) - (subnormal ? 23.0F : 0.0F);
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
  result = x < infinity ? result : x;  // infinity and NaN
  result = x > 0.0F || x != x ? result : std::numeric_limits<float>::quiet_NaN();
  return x == 0.0F ? -infinity : result;
}

/// The hyperbolic tangent to 2 ulp.
MTF_INLINE float fast_tanh(float x) {
  float const z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  float const near_zero = p * z * x + x;
  float const size = x < 0.0F ? -x : x;
  float const far = 1.0F - 2.0F / (fast_exp(2.0F * size) + 1.0F);
  return size < 0.625F ? near_zero : (x < 0.0F ? -far : far);
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
