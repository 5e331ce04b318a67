// Derivatives where functions have kinks, and over the whole range of each function; and what maxima and minima,
// softplus and logaddexp make of NaN, infinities and zeros.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels_fixture.hpp"

#include <mtf/ops/elementwise/functions.hpp>

namespace kernels {
namespace {

template <class T>
bool same(T x, T want) {
  return std::isnan(want) ? std::isnan(x) : x == want && std::signbit(x) == std::signbit(want);
}

/// The derivative in the I-th argument.
template <std::size_t I, class F, class... T>
double slope(F f, T... x) {
  return static_cast<double>(mtf::math::derivative<I>(f, x...));
}

}  // namespace

TEST_CASE_TEMPLATE("derivatives at kinks", T, float, double) {
  T const zero = 0, one = 1, nan = std::numeric_limits<T>::quiet_NaN();
  mtf::functions::relu const relu;
  mtf::functions::abs const abs;
  mtf::functions::max const max;
  mtf::functions::min const min;
  mtf::functions::clip<T> const clip{-one, one};
  for (T const x : {zero, -zero}) {
    CHECK(slope<0>(relu, x) == 0);
    CHECK(slope<0>(abs, x) == 0);
    CHECK(same(relu(x), zero));
    CHECK(same(abs(x), zero));
  }
  CHECK(slope<0>(relu, one) == 1);
  CHECK(slope<0>(relu, -one) == 0);
  CHECK(slope<0>(abs, one) == 1);
  CHECK(slope<0>(abs, -one) == -1);
  for (T const x : {zero, -zero, one, std::numeric_limits<T>::infinity()})
    for (T const y : {x, x == 0 ? -x : x}) {
      CHECK(slope<0>(max, x, y) == 0.5);
      CHECK(slope<1>(max, x, y) == 0.5);
      CHECK(slope<0>(min, x, y) == 0.5);
      CHECK(slope<1>(min, x, y) == 0.5);
    }
  CHECK(slope<0>(max, one, zero) == 1);
  CHECK(slope<1>(max, one, zero) == 0);
  CHECK(slope<0>(min, one, zero) == 0);
  CHECK(slope<1>(min, one, zero) == 1);
  CHECK(slope<0>(clip, one) == 1);
  CHECK(slope<0>(clip, -one) == 1);
  CHECK(slope<0>(clip, T(1.5)) == 0);
  CHECK(slope<0>(clip, T(-1.5)) == 0);
  CHECK(std::isnan(relu(nan)));
  CHECK(std::isnan(clip(nan)));
}

/// Numbers from the smallest to the largest that T has, of both signs, and those around which exponentials over- and
/// underflow.
template <class T>
std::vector<double> whole_range(bool negative) {
  using limits = std::numeric_limits<compute_t<T>>;
  std::vector<double> size{0, static_cast<double>(limits::max())};
  for (int e = limits::min_exponent - (sizeof(T) == 2 ? 7 : limits::digits); e < limits::max_exponent; ++e)
    for (double const m : {1.0, 1.125, 1.5, 1.75}) size.push_back(std::ldexp(m, e));
  for (double const x : {87.0, 87.5, 88.0, 88.5, 89.0, 100.0, 103.5, 104.5, 708.0, 710.0, 744.0, 746.0, 1e9})
    size.push_back(x);
  for (int i = 1; i < 40; ++i) size.push_back(i / 4.0);
  std::vector<double> all;
  for (double const x : size) {
    double const v = convert<double>(convert<T>(x));
    if (!std::isfinite(v)) continue;
    all.push_back(v);
    if (negative) all.push_back(-v);
  }
  return all;
}

/// A function's derivative by definition, and where it is known. `near`: how much it may be off by, in units of the
/// type's epsilon, of itself; `absolute`: or of this number, where values cancel.
struct derivative_case {
  long double (*is)(long double);
  bool negative = true, zero = true;
  double near = 8, absolute = 0;
};
template <class F>
derivative_case definition();
using real = long double;
// (Functions, not lambdas: nvcc 13.0 loses a lambda's type in a specialization.)
#define DERIVATIVE(NAME, ...)                          \
  template <>                                          \
  derivative_case definition<mtf::functions::NAME>() { \
    return {of_##NAME __VA_OPT__(, ) __VA_ARGS__};     \
  }
real of_exp(real x) { return std::exp(x); }
DERIVATIVE(exp)
real of_log(real x) { return 1 / x; }
DERIVATIVE(log, false, false)
real of_sqrt(real x) { return 1 / (2 * std::sqrt(x)); }
DERIVATIVE(sqrt, false)
real of_rsqrt(real x) { return -1 / (2 * x * std::sqrt(x)); }
DERIVATIVE(rsqrt, false, false)
real of_tanh(real x) { return std::abs(x) > 5000 ? 0 : 1 / (std::cosh(x) * std::cosh(x)); }
DERIVATIVE(tanh, true, true, 8, 1)
real of_sigmoid(real x) {
  return std::exp(-std::abs(x)) / ((1 + std::exp(-std::abs(x))) * (1 + std::exp(-std::abs(x))));
}
DERIVATIVE(sigmoid)
real of_softplus(real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
DERIVATIVE(softplus)
real of_relu(real x) { return real(x > 0); }
DERIVATIVE(relu)
real of_gelu(real x) {
  real const k = 0.7978845608028654L,
             t = std::abs(x) > 1e4L ? std::copysign(1.0L, x) : std::tanh(k * (x + 0.044715L * x * x * x));
  return (1 + t) / 2 + (std::abs(t) == 1 ? 0 : x * (1 - t * t) * k * (1 + 3 * 0.044715L * x * x) / 2);
}
DERIVATIVE(gelu, true, true, 40, 1)
real of_silu(real x) {
  real const small = std::exp(-std::abs(x)), s = x < 0 ? small / (1 + small) : 1 / (1 + small),
             rest = x < 0 ? 1 / (1 + small) : small / (1 + small);
  return s * (1 + (std::abs(x) > 20000 ? (x < 0 ? -1e9L : 0) : x * rest));
}
DERIVATIVE(silu, true, true, 16, 1)
real of_square(real x) { return 2 * x; }
DERIVATIVE(square)
real of_abs(real x) { return real(x > 0) - real(x < 0); }
DERIVATIVE(abs)
real of_expm1(real x) { return std::exp(x); }
DERIVATIVE(expm1)
real of_log1p(real x) { return 1 / (1 + x); }
DERIVATIVE(log1p)
real of_sin(real x) { return std::cos(x); }
DERIVATIVE(sin, true, true, 8, 1)
real of_cos(real x) { return -std::sin(x); }
DERIVATIVE(cos, true, true, 8, 1)
real of_erf(real x) { return std::abs(x) > 100 ? 0 : 1.12837916709551257390L * std::exp(-x * x); }
DERIVATIVE(erf, true, true, 8, 1)
real of_gelu_erf(real x) {
  return std::abs(x) > 100 ? real(x > 0)
                           : std::erfc(-x / std::sqrt(2.0L)) / 2 + x * std::exp(-x * x / 2) * 0.39894228040143267794L;
}
DERIVATIVE(gelu_erf, true, true, 8, 1)
real of_selu(real x) { return 1.05070098735548049342L * (x > 0 ? 1 : 1.67326324235437728482L * std::exp(x)); }
DERIVATIVE(selu)
real of_reciprocal(real x) { return -1 / (x * x); }
DERIVATIVE(reciprocal, true, false)
#undef DERIVATIVE

/// Gradients of a loss that is the sum of f(x), by the kernel that all maps' backward passes are.
template <class T, class F>
std::vector<double> slopes(F f, std::vector<double> const& at, double dy = 1) {
  auto const n = static_cast<index>(at.size());
  array<T> const x(at), g(std::vector<double>(at.size(), dy));
  array<T> dx(n);
  loops<2> const flat{.ndim = 1, .extent = {n}, .stride = {{{1}, {1}}}};
  device().run(
      primitives::map_vjp_of<F, T, T>(f, flat, {mtf::backend::map_gradient{dx.get(), false, true}}, g.get(), x.get()));
  return dx.host();
}

template <class T, class F>
void check_whole_range(char const* name) {
  CAPTURE(std::string(name));
  using A = compute_t<T>;
  using limits = std::numeric_limits<A>;
  auto const of = definition<F>();
  double const epsilon = std::is_same_v<T, bfloat16> ? 0x1p-7 : static_cast<double>(limits::epsilon());
  auto at = whole_range<T>(of.negative);
  if (!of.zero) std::erase(at, 0.0);
  auto const found = slopes<T>(F{}, at), none = slopes<T>(F{}, at, 0);
  double worst = 0, where = 0, got = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    CHECK(none[i] == 0);
    double const want = static_cast<double>(of.is(at[i])), largest = static_cast<double>(limits::max());
    double off = 0;
    if (!(std::abs(want) < 0.999 * largest))  // it overflows, or nearly
      off = std::abs(found[i]) > 0.99 * largest && std::signbit(found[i]) == std::signbit(want) ? 0 : HUGE_VAL;
    else  // a few subnormal numbers off where the type's numbers end, as a large factor may be lost there
      off = std::abs(found[i] - want) /
            (std::max(std::abs(want), of.absolute) * epsilon * of.near + 256 * static_cast<double>(limits::min()));
    if (!(off <= worst)) worst = std::isnan(off) ? HUGE_VAL : off, where = at[i], got = found[i];
  }
  INFO("derivative at ", where, ": ", got, ", by definition ", static_cast<double>(of.is(where)));
  CHECK(worst <= 1);
}

TEST_CASE_TEMPLATE("derivatives over the whole range of each function", T, float, double, bfloat16){
#define CHECK_ONE(NAME, FLOATING) check_whole_range<T, mtf::functions::NAME>(#NAME);
    MTF_FUNCTIONS_OF_ONE(CHECK_ONE)
#undef CHECK_ONE
}

/// Of two numbers: all pairs, in either argument.
TEST_CASE_TEMPLATE("derivatives of functions of two numbers over their range", T, float, double) {
  using limits = std::numeric_limits<T>;
  double const largest = static_cast<double>(limits::max());
  auto const check = [&](auto f, auto const& x, auto const& y, auto const& of_x, auto const& of_y, double near) {
    double worst = 0, where_x = 0, where_y = 0, got = 0, expected = 0;
    auto const one = [&](double found, real exact, double a, double b) {
      double const want = static_cast<double>(exact);
      double const off =
          !(std::abs(want) < 0.999 * largest)
              ? (std::abs(found) > 0.99 * largest && std::signbit(found) == std::signbit(want) ? 0 : HUGE_VAL)
              : std::abs(found - want) / (std::abs(want) * static_cast<double>(limits::epsilon()) * near +
                                          256 * static_cast<double>(limits::min()));
      if (!(off <= worst))
        worst = std::isnan(off) ? HUGE_VAL : off, where_x = a, where_y = b, got = found, expected = want;
    };
    for (double const a : x)
      for (double const b : y) {
        auto const u = static_cast<T>(a), v = static_cast<T>(b);
        one(slope<0>(f, u, v), of_x(real(u), real(v)), a, b);
        one(slope<1>(f, u, v), of_y(real(u), real(v)), a, b);
      }
    INFO("at ", where_x, " and ", where_y, ": ", got, ", by definition ", expected);
    CHECK(worst <= 1);
  };
  auto const all = whole_range<T>(true);
  std::vector<double> some;
  for (std::size_t i = 0; i < all.size(); i += 7) some.push_back(all[i]);
  auto const share = [](real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); };
  auto const difference = [](real x, real y) {
    return real(static_cast<T>(x) - static_cast<T>(y));
  };  // as it is rounded
  check(
      mtf::functions::logaddexp{}, some, some, [&](real x, real y) { return share(difference(x, y)); },
      [&](real x, real y) { return share(difference(y, x)); }, 8);
  auto const choose = [](real a, real b) { return a > b ? 1.0L : a < b ? 0.0L : 0.5L; };
  check(mtf::functions::max{}, some, some, choose, [&](real x, real y) { return choose(y, x); }, 1);
  check(mtf::functions::min{}, some, some, [&](real x, real y) { return choose(y, x); }, choose, 1);
  auto denominators = some;
  std::erase(denominators, 0.0);
  check(
      mtf::functions::divide{}, some, denominators, [](real, real y) { return 1 / y; },
      [](real x, real y) { return x == 0 ? 0 : -(real(static_cast<T>(x / y)) / y); }, 4);
}

/// max and min are those of IEEE 754-2019, whichever operand is first.
TEST_CASE_TEMPLATE("maximum and minimum of all pairs of special values", T, float, double) {
  using limits = std::numeric_limits<T>;
  std::vector<T> const ascending{
      -limits::infinity(),  limits::lowest(), T(-1), -limits::min(), -limits::denorm_min(), T(-0.0), T(0),
      limits::denorm_min(), limits::min(),    T(1),  limits::max(),  limits::infinity()};
  mtf::functions::max const max;
  mtf::functions::min const min;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      CHECK(same(max(ascending[i], ascending[j]), ascending[std::max(i, j)]));
      CHECK(same(min(ascending[i], ascending[j]), ascending[std::min(i, j)]));
    }
    for (T const nan : {limits::quiet_NaN(), -limits::quiet_NaN()}) {
      CHECK(std::isnan(max(nan, ascending[i])));
      CHECK(std::isnan(max(ascending[i], nan)));
      CHECK(std::isnan(min(nan, ascending[i])));
      CHECK(std::isnan(min(ascending[i], nan)));
    }
  }
}

TEST_CASE_TEMPLATE("softplus and logaddexp", T, float, double) {
  using limits = std::numeric_limits<T>;
  T const infinity = limits::infinity(), nan = limits::quiet_NaN(), largest = limits::max();
  mtf::functions::softplus const softplus;
  mtf::functions::logaddexp const logaddexp;

  CHECK(softplus(infinity) == infinity);
  CHECK(same(softplus(-infinity), T(0)));
  CHECK(std::isnan(softplus(nan)));
  CHECK(softplus(largest) == largest);
  CHECK(softplus(-largest) == 0);
  CHECK(slope<0>(softplus, T(0)) == 0.5);
  CHECK(slope<0>(softplus, infinity) == 1);
  CHECK(slope<0>(softplus, -infinity) == 0);
  CHECK(slope<0>(softplus, largest) == 1);
  CHECK(slope<0>(softplus, -largest) == 0);
  CHECK(std::isnan(slope<0>(softplus, nan)));

  for (T const x : {T(0), T(-0.0), T(1), T(-1), T(80), T(-80), largest, -largest, infinity, -infinity}) {
    CAPTURE(x);
    // Equal, and far from each other.
    CHECK(same(logaddexp(x, x), x + T(0.69314718055994530942)));
    CHECK(slope<0>(logaddexp, x, x) == 0.5);
    CHECK(slope<1>(logaddexp, x, x) == 0.5);
    CHECK(same(logaddexp(x, -infinity), x == 0 ? T(0) : x));
    CHECK(same(logaddexp(-infinity, x), x == 0 ? T(0) : x));
    CHECK(logaddexp(x, infinity) == infinity);
    CHECK(logaddexp(infinity, x) == infinity);
    CHECK(std::isnan(logaddexp(x, nan)));
    CHECK(std::isnan(logaddexp(nan, x)));
    if (x == infinity) continue;
    CHECK(slope<0>(logaddexp, x, infinity) == 0);
    CHECK(slope<1>(logaddexp, x, infinity) == 1);
    if (x == -infinity) continue;
    CHECK(slope<0>(logaddexp, x, -infinity) == 1);
    CHECK(slope<1>(logaddexp, x, -infinity) == 0);
  }
  CHECK(logaddexp(largest, -largest) == largest);
  CHECK(slope<0>(logaddexp, largest, -largest) == 1);
  CHECK(slope<1>(logaddexp, T(0), T(-0.0)) == 0.5);

  // In units of the last place against long double: of softplus of the result. That of logaddexp crosses 0, where no
  // method by logarithms is exact in it: of the largest of the result and both operands.
  auto const ulps = [](long double got, long double want, long double of) {
    int exponent = 0;
    std::frexp(static_cast<double>(of), &exponent);  // hipcc finds no one for long double in a lambda
    return static_cast<double>(std::abs(got - want) / std::ldexp(1.0L, exponent - limits::digits));
  };
  using real = long double;
  auto const exact = [](real x) { return std::max<real>(x, 0) + std::log1p(std::exp(-std::abs(x))); };
  double worst = 0, worst_of_two = 0, worst_slope = 0;
  for (int i = -80000; i <= 80000; ++i) {
    T const x = static_cast<T>(i) / 1000, y = static_cast<T>(i * 7919LL % 80000) / 1000;
    real const size_x = std::abs(real(x)), size_y = std::abs(real(y));
    real const of_one = exact(x), of_two = std::max<real>(x, y) + exact(-std::abs(real(x) - real(y)));
    worst = std::max(worst, ulps(softplus(x), of_one, of_one));
    worst_of_two = std::max(worst_of_two, ulps(logaddexp(x, y), of_two, std::max({std::abs(of_two), size_x, size_y})));
    worst_slope =
        std::max(worst_slope, std::abs(slope<0>(softplus, x) - static_cast<double>(1 / (1 + std::exp(-real(x))))));
  }
  MESSAGE("softplus: ", worst, " ulp, logaddexp: ", worst_of_two, " ulp, slope of softplus: ", worst_slope);
  CHECK(worst <= 4);
  CHECK(worst_of_two <= 4);
  CHECK(worst_slope <= 2 * static_cast<double>(limits::epsilon()));
}

/// A special value anywhere among n, in every kind of kernel: contiguous rows, columns, and split into slices.
TEST_CASE_TEMPLATE("reductions of special values", T, float, double, bfloat16) {
  double const infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  auto const check = [&](index results, index n, index result_stride, index stride) {
    CAPTURE(results);
    CAPTURE(n);
    mtf::backend::reduction const r{{1, {results}, {{{1}, {result_stride}}}}, {1, {n}, {{{stride}}}}};
    auto const reduced = [&](combine op, std::vector<double> const& x) {
      array<T> const in(x);
      array<T> out(numbers(results, 1));
      device().run(primitives::reduce{op, r, out.get(), in.get(), false});
      return out.host();
    };
    for (index at = 0; at < n; at += std::max<index>(1, n / 9)) {
      index const result = at % results, position = result * result_stride + at * stride,
                  next = result * result_stride + (at + 1) % n * stride;
      auto x = numbers(results * n, 3);
      auto const put = [&](double v) { x[static_cast<std::size_t>(position)] = v; };
      auto const of_result = [&](combine op) { return reduced(op, x)[static_cast<std::size_t>(result)]; };
      for (double const v : {nan, -nan}) {
        put(v);
        for (auto const op : {combine::max, combine::min}) {
          auto const y = reduced(op, x);
          for (index k = 0; k < results; ++k) CHECK(std::isnan(y[static_cast<std::size_t>(k)]) == (k == result));
        }
      }
      put(infinity);
      CHECK(of_result(combine::max) == infinity);
      put(-infinity);
      CHECK(of_result(combine::min) == -infinity);
      if (n == 1) continue;
      // Zeros of both signs, among what is smaller or larger.
      x.assign(x.size(), -2);
      put(-0.0);
      CHECK(same(of_result(combine::max), -0.0));
      x[static_cast<std::size_t>(next)] = 0.0;
      CHECK(same(of_result(combine::max), 0.0));
      x.assign(x.size(), 2);
      put(0.0);
      CHECK(same(of_result(combine::min), 0.0));
      x[static_cast<std::size_t>(next)] = -0.0;
      CHECK(same(of_result(combine::min), -0.0));
    }
  };
  for (index const n : {1, 7, 40, 1000}) {
    check(5, n, n, 1);    // rows
    check(64, n, 1, 64);  // columns
  }
  check(1, 100000, 1, 1);  // slices
}

/// What is not a number makes its row NaN and no other. Of NaN float knows many.
TEST_CASE_TEMPLATE("softmax of special values", T, float, double, bfloat16) {
  double const infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (index const n : {1, 7, 40, 200})
    for (double const v : {nan, std::nan("0x20000000"), infinity, -infinity}) {
      CAPTURE(n);
      CAPTURE(v);
      rows const r{2, n, 1};
      auto x = numbers(2 * n, 5);
      x[static_cast<std::size_t>(n / 2)] = v;
      array<T> const in(x);
      array<T> y(numbers(2 * n, 1)), z(numbers(2 * n, 1));
      device().run(primitives::softmax{r, compute_t<T>(1), {}, y.get(), in.get()});
      device().run(primitives::log_softmax{r, z.get(), in.get()});
      bool const row_is_nan = v != -infinity || n == 1;
      auto const soft = y.host(), log = z.host();
      for (std::size_t j = 0; j < soft.size(); ++j) {
        bool const is_nan = row_is_nan && j < static_cast<std::size_t>(n);
        CHECK(std::isnan(soft[j]) == is_nan);
        CHECK(std::isnan(log[j]) == is_nan);
      }
    }
}

}  // namespace kernels
