#pragma once
// exp, log, tanh, erf and square root of float that compilers vectorize: straight-line code without calls. GCC keeps
// calls to std::exp, and to std::sqrt for its errno, scalar unless -ffast-math changes the meaning of everything else.
// double, and what is asked for less often, goes to the standard library, device code to the device's own functions.
// NaN is kept by all of them.
//
// The constants are derived by scripts/derive_fast_math.py, which prints them as they stand here. Errors are in units
// of the last place of the result, ulp: the largest over all floats, with and without fused multiply-adds, on GCC and
// Clang. tests/local/fast_math_test.cpp holds the functions to them. exp, log and sqrt never decrease.
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>  // IWYU pragma: keep

#include <mtf/core/host_device.hpp>

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define MTF_DEVICE_PASS
#endif

namespace mtf::math {

/// condition ? a : b without a branch: GCC moves what only one side needs into a branch, and then does not vectorize,
/// or computes what follows once for each side.
template <class T>
MTF_FUNCTION constexpr T bitwise_select(bool condition, T a, T b) {
#if defined(__clang__) || defined(MTF_DEVICE_PASS)
  return condition ? a : b;
#else
  using bits = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
  bits const mask = bits(0) - static_cast<bits>(condition);
  return std::bit_cast<T>((std::bit_cast<bits>(a) & mask) | (std::bit_cast<bits>(b) & ~mask));
#endif
}

// The standard library's functions. As builtins: <cmath>, with all of its special functions, would be a fifth of what
// including mtf costs.
#if defined(MTF_DEVICE_PASS)
MTF_FUNCTION double fast_exp(double x) { return ::exp(x); }
MTF_FUNCTION double fast_log(double x) { return ::log(x); }
MTF_FUNCTION double fast_tanh(double x) { return ::tanh(x); }
MTF_FUNCTION double library_sqrt(double x) { return ::sqrt(x); }
MTF_FUNCTION double library_floor(double x) { return ::floor(x); }
MTF_FUNCTION float library_floor(float x) { return ::floorf(x); }
MTF_FUNCTION float library_sqrt(float x) { return ::sqrtf(x); }
MTF_FUNCTION double fast_expm1(double x) { return ::expm1(x); }
MTF_FUNCTION double fast_log1p(double x) { return ::log1p(x); }
MTF_FUNCTION double fast_erf(double x) { return ::erf(x); }
MTF_FUNCTION double library_sin(double x) { return ::sin(x); }
MTF_FUNCTION float library_sin(float x) { return ::sinf(x); }
MTF_FUNCTION double library_cos(double x) { return ::cos(x); }
MTF_FUNCTION float library_cos(float x) { return ::cosf(x); }
MTF_FUNCTION double library_ceil(double x) { return ::ceil(x); }
MTF_FUNCTION float library_ceil(float x) { return ::ceilf(x); }
MTF_FUNCTION double library_round(double x) { return ::rint(x); }
MTF_FUNCTION float library_round(float x) { return ::rintf(x); }
MTF_FUNCTION double library_remainder(double x, double y) { return ::fmod(x, y); }
MTF_FUNCTION float library_remainder(float x, float y) { return ::fmodf(x, y); }
#else
MTF_FUNCTION double fast_exp(double x) { return __builtin_exp(x); }
MTF_FUNCTION double fast_log(double x) { return __builtin_log(x); }
MTF_FUNCTION double fast_tanh(double x) { return __builtin_tanh(x); }
/// The standard library's square root.
MTF_FUNCTION double library_sqrt(double x) { return __builtin_sqrt(x); }
/// The standard library's: the largest whole number that is not larger.
MTF_FUNCTION double library_floor(double x) { return __builtin_floor(x); }
MTF_FUNCTION float library_floor(float x) { return __builtin_floorf(x); }
MTF_FUNCTION float library_sqrt(float x) { return __builtin_sqrtf(x); }
MTF_FUNCTION double fast_expm1(double x) { return __builtin_expm1(x); }
MTF_FUNCTION double fast_log1p(double x) { return __builtin_log1p(x); }
MTF_FUNCTION double fast_erf(double x) { return __builtin_erf(x); }
/// The standard library's sine.
MTF_FUNCTION double library_sin(double x) { return __builtin_sin(x); }
MTF_FUNCTION float library_sin(float x) { return __builtin_sinf(x); }
/// The standard library's cosine.
MTF_FUNCTION double library_cos(double x) { return __builtin_cos(x); }
MTF_FUNCTION float library_cos(float x) { return __builtin_cosf(x); }
/// The standard library's: the smallest whole number that is not smaller.
MTF_FUNCTION double library_ceil(double x) { return __builtin_ceil(x); }
MTF_FUNCTION float library_ceil(float x) { return __builtin_ceilf(x); }
/// The standard library's: the nearest whole number, of two the even one.
MTF_FUNCTION double library_round(double x) { return __builtin_nearbyint(x); }
MTF_FUNCTION float library_round(float x) { return __builtin_nearbyintf(x); }
/// The standard library's fmod: what is left of x, with its sign, after a whole number of y.
MTF_FUNCTION double library_remainder(double x, double y) { return __builtin_fmod(x, y); }
MTF_FUNCTION float library_remainder(float x, float y) { return __builtin_fmodf(x, y); }
#endif
MTF_FUNCTION double fast_exp_down(double x) { return fast_exp(x); }
MTF_FUNCTION double fast_sqrt(double x) { return library_sqrt(x); }
/// The standard library's x^y.
inline double library_pow(double x, double y) { return __builtin_pow(x, y); }

#if defined(MTF_DEVICE_PASS)

MTF_FUNCTION float fast_exp(float x) { return ::expf(x); }
MTF_FUNCTION float fast_exp_down(float x) { return ::expf(x); }
MTF_FUNCTION float fast_log(float x) { return ::logf(x); }
MTF_FUNCTION float fast_tanh(float x) { return ::tanhf(x); }
MTF_FUNCTION float fast_sqrt(float x) { return ::sqrtf(x); }
MTF_FUNCTION float fast_expm1(float x) { return ::expm1f(x); }
MTF_FUNCTION float fast_log1p(float x) { return ::log1pf(x); }
MTF_FUNCTION float fast_erf(float x) { return ::erff(x); }

#else

/// 1 / ln 2.
inline constexpr float log2_e = 0x1.715476p0F;
inline constexpr float ln2_high = 0x1.62e4p-1F;  // ln 2 in two parts: the first times a whole number up to 2^9 is exact
/// The second part.
inline constexpr float ln2_low = 0x1.7f7d1cp-20F;

/// Adding it rounds to a whole number, which is then in the low bits.
inline constexpr float rounding_shift = 0x1.8p23F;

/// The float whose exponent is in the lowest eight bits, with its bias: 2^(biased - 127) for 0 < biased < 255, 0 for 0.
MTF_FUNCTION float power_of_two(std::uint32_t biased) { return std::bit_cast<float>(biased << 23U); }

/// e^(x - n ln 2) - 1 for the integer n nearest to x / ln 2.
MTF_FUNCTION float expm1_of_rest(float x, float n) {
  float r = x - n * ln2_high;
  r = r - n * ln2_low;
  float p = 0x1.6ac732p-10F;
  p = p * r + 0x1.123dep-7F;
  p = p * r + 0x1.555858p-5F;
  p = p * r + 0x1.55548cp-3F;
  p = p * r + 0x1.fffffcp-2F;
  return p * (r * r) + r;
}
/// e^(x - n ln 2).
MTF_FUNCTION float exp_of_rest(float x, float n) { return expm1_of_rest(x, n) + 1.0F; }

/// e^x to 1.02 ulp, with gradual underflow and overflow to infinity.
MTF_FUNCTION float fast_exp(float x) {
  constexpr float lowest = -104.0F, highest = 89.0F;  // beyond them the result is 0 or infinity all the same
  x = x < lowest ? lowest : x;
  x = x > highest ? highest : x;
  constexpr float shift = rounding_shift + 254.0F;
  float const shifted = x * log2_e + shift;
  float const p = exp_of_rest(x, shifted - shift);
  // 2^n in two factors, since n reaches beyond the exponents of normal numbers: n and two biases are halved.
  auto const n = std::bit_cast<std::uint32_t>(shifted), half = n >> 1U;
  return p * power_of_two(half) * power_of_two(n - half);
}

/// fast_exp for x < 88 in less time: 0 below -87.69.
MTF_FUNCTION float fast_exp_down(float x) {
  constexpr float lowest = -88.0F;  // where 2^n has no exponent left and is 0
  x = x < lowest ? lowest : x;
  constexpr float shift = rounding_shift + 127.0F;
  float const shifted = x * log2_e + shift;
  float const p = exp_of_rest(x, shifted - shift);
  return p * power_of_two(std::bit_cast<std::uint32_t>(shifted));
}

/// e^x - 1 within 1.7 ulp, also where it is near 0; of -0 -0.
MTF_FUNCTION float fast_expm1(float x) {
  constexpr float lowest = -32.0F, highest = 89.0F;  // beyond them the result is -1 or infinity all the same
  float const within = x < lowest ? lowest : x > highest ? highest : x;
  constexpr float shift = rounding_shift + 126.0F;
  float const shifted = within * log2_e + shift;
  // Half of it, as 2^128 is no float.
  float const half_power = power_of_two(std::bit_cast<std::uint32_t>(shifted));
  float const half = expm1_of_rest(within, shifted - shift) * half_power + (half_power - 0.5F);
  return bitwise_select(x == 0.0F, x, half + half);
}

/// The natural logarithm to 0.86 ulp; of 0 -infinity, of negative numbers NaN.
MTF_FUNCTION float fast_log(float x) {
  std::uint32_t const lift = x < 0x1p-126F ? 23U : 0U;
  auto const bits = std::bit_cast<std::uint32_t>(x * power_of_two(lift + 127U));
  // The mantissa in [sqrt(1/2), sqrt(2)), so that the logarithm of numbers near 1 does not cancel.
  constexpr std::uint32_t root = 0x3f3504f3U;
  std::uint32_t const from_root = bits - root;
  auto const exponent =
      static_cast<float>((static_cast<std::int32_t>(from_root) >> 23) - static_cast<std::int32_t>(lift));
  float const r = std::bit_cast<float>((from_root & 0x7fffffU) + root) - 1.0F;
  float const r2 = r * r;
  float p = -0x1.38ff5ep-4F;
  p = p * r + 0x1.05729ap-3F;
  p = p * r - 0x1.0d81fep-3F;
  p = p * r + 0x1.22d66p-3F;
  p = p * r - 0x1.54722ep-3F;
  p = p * r + 0x1.99a034p-3F;
  p = p * r - 0x1.000228p-2F;
  p = p * r + 0x1.555554p-2F;
  float y = p * r * r2 + exponent * ln2_low;
  y = y - 0.5F * r2;
  float result = r + y + exponent * ln2_high;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  result = bitwise_select(x < infinity, result, x);  // infinity and NaN
  result = bitwise_select(x < 0.0F, std::numeric_limits<float>::quiet_NaN(), result);
  return bitwise_select(x == 0.0F, -infinity, result);
}

/// The hyperbolic tangent to 5.7 ulp (4.9 where multiply-adds are fused), odd, 1 from 7.96 on and never beyond: a
/// rational approximation. (One by fast_exp is slower, and cancels near 0.)
MTF_FUNCTION float fast_tanh(float x) {
  constexpr float bound = 0x1.f99eb8p5F;
  float const square = x * x, z = bitwise_select(square > bound, bound, square);
  float p = 0x1.085a94p-26F;
  p = p * z + 0x1.71219cp-16F;
  p = p * z + 0x1.d4f8acp-9F;
  p = p * z + 0x1.1373dep-3F;
  p = p * z + 1.0F;
  float q = 0x1.cce31cp-21F;
  q = q * z + 0x1.66cd26p-12F;
  q = q * z + 0x1.ad12ep-6F;
  q = q * z + 0x1.df0f42p-2F;
  q = q * z + 1.0F;
  float y = x * p / q;  // beyond the bound a straight line that leaves [-1, 1] at once
  y = bitwise_select(y > 1.0F, 1.0F, y);
  return bitwise_select(y < -1.0F, -1.0F, y);
}

/// log(1 + x) within 2.5 ulp, also where it is near 0; of -0 -0, of -1 -infinity.
MTF_FUNCTION float fast_log1p(float x) {
  // What rounding takes from 1 + x is a factor of the result, as Kahan has it.
  float const u = 1.0F + x, log_u = fast_log(u);
  float const result = bitwise_select(u == 1.0F, x, log_u * (x / (u - 1.0F)));
  return bitwise_select(x < std::numeric_limits<float>::infinity(), result, log_u);  // infinity and NaN
}

/// The error function within 1.4 ulp, odd, 1 from 3.93 on and never beyond: near 0 x + x P(x^2), else 1 - e^-(x Q(x)).
MTF_FUNCTION float fast_erf(float x) {
  constexpr float bound = 0x1.dc28f6p-1F;
  float const z = x * x, size = x < 0.0F ? -x : x, t = size > 4.0F ? 4.0F : size;
  float p = -0x1.386bf4p-11F;
  p = p * z + 0x1.46d836p-8F;
  p = p * z - 0x1.b67bcep-6F;
  p = p * z + 0x1.ce1984p-4F;
  p = p * z - 0x1.8126e2p-2F;
  p = p * z + 0x1.06eba6p-3F;
  float q = 0x1.859e86p-17F;
  q = q * t - 0x1.567bap-12F;
  q = q * t + 0x1.df75fep-9F;
  q = q * t - 0x1.85db76p-6F;
  q = q * t + 0x1.b34da2p-4F;
  q = q * t + 0x1.452f82p-1F;
  q = q * t + 0x1.077bdep-3F;
  float const below = p * x + x, above = 1.0F - fast_exp_down(-(q * t + t));
  return bitwise_select(size < bound, below, bitwise_select(x < 0.0F, -above, above));
}

/// The square root to 0.85 ulp; of -0 -0, of negative numbers NaN.
MTF_FUNCTION float fast_sqrt(float x) {
  bool const subnormal = x < 0x1p-126F;
  float const s = x * (subnormal ? 0x1p24F : 1.0F), half = 0.5F * s;
  constexpr std::uint32_t start = 0x5f375a86U;
  auto r = std::bit_cast<float>(start - (std::bit_cast<std::uint32_t>(s) >> 1U));  // about 1 / sqrt(s)
  r = r * (1.5F - half * r * r);
  r = r * (1.5F - half * r * r);
  float root = s * r;
  root = root + 0.5F * r * (s - root * root);
  root = root * (subnormal ? 0x1p-12F : 1.0F);
  root = bitwise_select(x < std::numeric_limits<float>::infinity(), root, x);
  return bitwise_select(x < 0.0F, std::numeric_limits<float>::quiet_NaN(), root);
}

#endif

}  // namespace mtf::math

#undef MTF_DEVICE_PASS
