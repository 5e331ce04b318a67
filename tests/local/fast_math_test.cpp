// The functions of float in fast_math.hpp against the standard library's of double: errors no larger than their
// comments say, in units of the last place (ulp), and special values. `local-fast_math --no-skip` takes all 2^32
// floats, in some minutes; the stated errors are measured so, with and without fused multiply-adds, on GCC and Clang.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>
#include <mtf/kokkos/kernels/random.hpp>

namespace {

using namespace mtf::kokkos;
using namespace mtf::math;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::uint64_t exponent_of_one = 1023, mantissa_bits = 52;

/// |result - exact| in units of the last place of a float like `exact`; of 2^-149 where that is subnormal. What is
/// beyond the largest float counts as 2^128. Infinite where NaN, infinity or a zero of some sign is exact and not the
/// result.
double error_in_ulp(float result, double exact) {
  if (std::isnan(result) || std::isnan(exact)) return std::isnan(result) && std::isnan(exact) ? 0.0 : infinity;
  if (std::isinf(exact) || exact == 0.0)
    return static_cast<double>(result) == exact && std::signbit(result) == std::signbit(exact) ? 0.0 : infinity;
  std::uint64_t const exponent = std::bit_cast<std::uint64_t>(std::abs(exact)) >> mantissa_bits;
  auto const ulp =
      std::bit_cast<double>((std::clamp(exponent, exponent_of_one - 126, exponent_of_one + 127) - 23) << mantissa_bits);
  auto const bounded = [](double x) { return std::clamp(x, -0x1p128, 0x1p128); };
  return std::abs(bounded(static_cast<double>(result)) - bounded(exact)) / ulp;
}

/// f(x) for every step-th float, as bit patterns count, and for the neighbours of all powers of two, of 0, infinity and
/// the first NaN: numbers of both signs and all exponents, and NaNs with and without further bits.
template <class F>
void for_floats(std::uint32_t step, F f) {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32U; bits += step)
    f(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t exponent = 0; exponent < 512; ++exponent)
    for (std::uint32_t beside = 0; beside < 5; ++beside) f(std::bit_cast<float>((exponent << 23U) + beside - 2U));
}

/// The error of f is at most `most` ulp from low to high and for NaN.
template <class F, class Exact>
void check(std::uint32_t step, double most, F f, Exact exact, float low = -infinity, float high = infinity) {
  double worst = 0;
  float at = 0;
  for_floats(step, [&](float x) {
    if (x < low || x > high) return;
    double const error = error_in_ulp(f(x), exact(static_cast<double>(x)));
    if (error > worst) worst = error, at = x;
  });
  INFO("at ", at, " the result is ", f(at));
  CHECK(worst <= most);
}

/// A float and the next larger one never have results in the other order.
template <class F>
void check_order(std::uint32_t step, F f) {
  float wrong = infinity;
  for_floats(step, [&](float x) {
    if (f(std::nextafter(x, infinity)) < f(x)) wrong = x;
  });
  INFO("it decreases at ", wrong);
  CHECK(wrong == infinity);
}

void check_all(std::uint32_t step) {
  SUBCASE("exp") {
    auto const f = [](float x) { return fast_exp(x); };
    check(step, 1.02, f, [](double x) { return std::exp(x); });
    check_order(step, f);
  }
  SUBCASE("exp of what is not large") {
    auto const f = [](float x) { return x < 88.0F || std::isnan(x) ? fast_exp_down(x) : infinity; };
    check(step, 1.02, f, [](double x) { return std::exp(x); }, -87.68F, 88.0F);
    check(step, 0.0, f, [](double x) { return std::isnan(x) ? x : 0.0; }, -infinity, -87.69F);
    check_order(step, f);
  }
  SUBCASE("log") {
    auto const f = [](float x) { return fast_log(x); };
    check(step, 0.86, f, [](double x) { return std::log(x); });
    check_order(step, f);
  }
  SUBCASE("expm1") {
    check(step, 1.7, [](float x) { return fast_expm1(x); }, [](double x) { return std::expm1(x); });
  }
  SUBCASE("log1p") {
    check(step, 2.5, [](float x) { return fast_log1p(x); }, [](double x) { return std::log1p(x); });
  }
  SUBCASE("erf") {
    check(step, 1.4, [](float x) { return fast_erf(x); }, [](double x) { return std::erf(x); });
    float largest = 0;
    for_floats(step, [&](float x) { largest = std::max(largest, std::abs(fast_erf(x))); });
    CHECK(largest == 1.0F);
  }
  SUBCASE("sqrt") {
    auto const f = [](float x) { return fast_sqrt(x); };
    check(step, 0.85, f, [](double x) { return std::sqrt(x); });
    check_order(step, f);
  }
  SUBCASE("tanh") {
    check(step, 5.7, [](float x) { return fast_tanh(x); }, [](double x) { return std::tanh(x); });
    float largest = 0;
    bool odd = true;
    for_floats(step, [&](float x) {
      float const y = fast_tanh(x);
      largest = std::max(largest, std::abs(y));
      odd = odd && (std::isnan(y) || std::bit_cast<std::uint32_t>(fast_tanh(-x)) == std::bit_cast<std::uint32_t>(-y));
    });
    CHECK(largest == 1.0F);
    CHECK(odd);
  }
}

TEST_CASE("functions of float, every 509th bit pattern") { check_all(509); }
TEST_CASE("functions of float, every bit pattern" * doctest::skip()) { check_all(1); }

/// The largest error(x) over numbers in [0, 1) of all sizes, and their distances from 1.
template <class F>
double largest_of(F error) {
  double worst = 0;
  for (int exponent = 0; exponent <= 52; ++exponent)
    for (int i = 0; i < 4096; ++i) {
      double const x = std::ldexp(1.0 + i / 4096.0, -exponent - 1);
      for (double const e : {error(x), error(1.0 - x)})
        if (!(e <= worst)) worst = e;  // also NaN, which is below nothing
    }
  return worst;
}

TEST_CASE("series of random numbers") {
  CHECK(log_of_unit(1.0) == 0.0);
  CHECK(largest_of([](double x) { return x < 0x1p-52 ? 0.0 : std::abs(log_of_unit(x) / std::log(x) - 1.0); }) <
        3.5e-14);
  CHECK(largest_of([](double x) { return std::abs(cosine_of_turns(x) - std::cos(2 * 3.14159265358979323846 * x)); }) <
        4.5e-14);
}

}  // namespace
