// Functions of elements, values and derivatives, against PyTorch and NumPy (tests/reference/make_functions.py); a
// variance of numbers that are all far from 0; and what the operations on tensors add to the functions: numbers,
// assignments.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/create.hpp>
#include <mtf/ops/reduction.hpp>

#include "reference/reference.hpp"

namespace {

using backend = mtf::kokkos_backend<>;
using real_place = mtf::place<double, mtf::layout<mtf::mesh<>>, backend>;
using whole_place = mtf::place<std::int32_t, mtf::layout<mtf::mesh<>>, backend>;

mtf::reference::file const& expected() {
  static mtf::reference::file const file(std::string(MTF_TEST_DIR) + "/reference/functions.bin");
  return file;
}
std::vector<double> const& expected(std::string const& name) { return expected()[name].values; }

/// NaN where NaN is expected, else within some units of the last place; `absolute`: of this number, where values
/// cancel.
template <class T>
bool near(T found, double wanted, double absolute = 0) {
  auto const want = static_cast<double>(static_cast<T>(wanted));
  if (std::isnan(want) || std::isnan(found)) return std::isnan(want) && std::isnan(found);
  if (static_cast<double>(found) == want) return true;
  auto const epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  return std::abs(static_cast<double>(found) - want) <=
         8 * epsilon * std::max(std::abs(want), absolute) + 4 * static_cast<double>(std::numeric_limits<T>::min());
}

template <class T, class F>
void check_one(std::string const& name, F f, double absolute = 0) {
  CAPTURE(name);
  auto const &x = expected("x"), &value = expected(name + ".value"), &slope = expected(name + ".slope");
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const at = static_cast<T>(x[i]);
    CAPTURE(at);
    if (std::isinf(at) && name == "gelu_erf") {  // where PyTorch has infinity times 0
      CHECK(f(at) == (at > 0 ? at : T(0)));
      CHECK(mtf::math::derivative<0>(f, at) == (at > 0 ? T(1) : T(0)));
      continue;
    }
    INFO(f(at), " for ", value[i], ", slope ", mtf::math::derivative<0>(f, at), " for ", slope[i]);
    CHECK(near(f(at), value[i], absolute));
    // PyTorch's slope of expm1 is its value + 1; ours is held to e^x in special_values_test.cpp.
    CHECK(near(mtf::math::derivative<0>(f, at), slope[i], name == "expm1" ? 1 : absolute));
  }
}

TEST_CASE_TEMPLATE("functions of one number are PyTorch's, and their derivatives", T, float, double) {
  namespace functions = mtf::functions;
  check_one<T>("sin", functions::sin{}, 1);
  check_one<T>("cos", functions::cos{}, 1);
  check_one<T>("erf", functions::erf{}, 1);
  check_one<T>("gelu_erf", functions::gelu_erf{}, 4);
  check_one<T>("elu", functions::elu<T>{T(0.75)});
  check_one<T>("selu", functions::selu{});
  check_one<T>("leaky_relu", functions::leaky_relu<T>{T(0.125)});
  check_one<T>("log1p", functions::log1p{});
  check_one<T>("expm1", functions::expm1{});
  check_one<T>("reciprocal", functions::reciprocal{});
  check_one<T>("floor", functions::floor{});
  check_one<T>("ceil", functions::ceil{});
  check_one<T>("round", functions::round{});
  functions::sign const sign;
  auto const &x = expected("x"), &value = expected("sign.value");
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(near(sign(static_cast<T>(x[i])), value[i]));
    CHECK(mtf::math::derivative<0>(sign, static_cast<T>(x[i])) == 0);
  }
}

template <class T, class F>
void check_two(std::string const& name, F f, double absolute) {
  CAPTURE(name);
  auto const &a = expected("a"), &b = expected("b"), &value = expected(name + ".value"),
             &of_a = expected(name + ".slope_a"), &of_b = expected(name + ".slope_b");
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto const x = static_cast<T>(a[i]), y = static_cast<T>(b[i]);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    CAPTURE(x);
    CAPTURE(y);
    auto const size = absolute * std::max(1.0, std::abs(a[i]));
    INFO(f(x, y), " for ", value[i], ", slopes ", mtf::math::derivative<0>(f, x, y), " for ", of_a[i], " and ",
         mtf::math::derivative<1>(f, x, y), " for ", of_b[i]);
    CHECK(near(f(x, y), value[i], size));
    CHECK(near(mtf::math::derivative<0>(f, x, y), of_a[i], absolute));
    CHECK(near(mtf::math::derivative<1>(f, x, y), of_b[i], size));
  }
}

TEST_CASE_TEMPLATE("functions of two numbers are PyTorch's, and their derivatives", T, float, double) {
  namespace functions = mtf::functions;
  check_two<T>("glu", functions::glu{}, 1);
  check_two<T>("geglu", functions::geglu{}, 4);
  check_two<T>("swiglu", functions::swiglu{}, 4);
  check_two<T>("sigmoid_cross_entropy", functions::sigmoid_cross_entropy{}, 4);
  check_two<double>("remainder", functions::remainder{}, 1);
}

TEST_CASE("division and remainder round down, as NumPy's") {
  mtf::functions::floor_divide const floor_divide;
  mtf::functions::remainder const remainder;
  auto const same = [](double x, double want) {
    return std::isnan(want) ? std::isnan(x) : x == want && std::signbit(x) == std::signbit(want);
  };
  auto const &a = expected("a"), &b = expected("b");
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i]);
    CAPTURE(b[i]);
    CHECK(same(remainder(a[i], b[i]), expected("numpy_remainder")[i]));
    CHECK(same(floor_divide(a[i], b[i]), expected("floor_divide.value")[i]));
    CHECK(mtf::math::derivative<0>(floor_divide, a[i], b[i]) == 0);
    CHECK(mtf::math::derivative<1>(floor_divide, a[i], b[i]) == 0);
  }
  auto const &m = expected("whole_a"), &n = expected("whole_b");
  for (std::size_t i = 0; i < m.size(); ++i) {
    auto const x = static_cast<std::int32_t>(m[i]), y = static_cast<std::int32_t>(n[i]);
    CHECK(remainder(x, y) == static_cast<std::int32_t>(expected("whole_remainder")[i]));
    CHECK(floor_divide(x, y) == static_cast<std::int32_t>(expected("whole_floor_divide")[i]));
  }
  // What C++ leaves undefined.
  constexpr auto lowest = std::numeric_limits<std::int32_t>::lowest();
  CHECK(floor_divide(lowest, -1) == 0);
  CHECK(remainder(lowest, -1) == 0);
  CHECK(floor_divide(7, 0) == 0);
  CHECK(remainder(-7, 0) == 0);
  CHECK(floor_divide(true, false) == 0);
}

TEST_CASE_TEMPLATE("losses and gates far from 0", T, float, double) {
  constexpr auto infinite = std::numeric_limits<T>::infinity();
  mtf::functions::sigmoid_cross_entropy const loss;
  for (T const size : {T(50), T(80), T(1e9)}) {
    // The right answer, and the wrong one; neither is lost in a difference.
    CHECK(near(loss(size, T(1)), std::exp(-static_cast<double>(size))));
    CHECK(near(loss(-size, T(0)), std::exp(-static_cast<double>(size))));
    CHECK(near(mtf::math::derivative<0>(loss, size, T(1)), -std::exp(-static_cast<double>(size))));
    CHECK(loss(size, T(0)) == size);
    CHECK(loss(-size, T(1)) == size);
    CHECK(mtf::math::derivative<0>(loss, -size, T(1)) == -1);
    CHECK(mtf::math::derivative<1>(loss, size, T(1)) == -size);
  }
  CHECK(loss(infinite, T(0)) == infinite);
  // A gate that a mask of -1e9 closed.
  auto const closed = [](auto gate) {
    for (T const x : {T(-3), T(0), T(1e9)})
      for (T const at : {T(-1e9), std::numeric_limits<T>::lowest()}) {
        CHECK(gate(x, at) == 0);
        CHECK(mtf::math::derivative<0>(gate, x, at) == 0);
        CHECK(mtf::math::derivative<1>(gate, x, at) == 0);
      }
  };
  constexpr auto nan = std::numeric_limits<T>::quiet_NaN();
  CHECK(mtf::math::derivative<1>(loss, T(2), nan) == -2);
  closed(mtf::functions::glu{});
  closed(mtf::functions::geglu{});
  closed(mtf::functions::swiglu{});
  for (T const at : {T(-1e9), std::numeric_limits<T>::lowest(), -infinite}) {
    CHECK(mtf::functions::gelu_erf{}(at) == 0);
    CHECK(mtf::math::derivative<0>(mtf::functions::gelu_erf{}, at) == 0);
  }
}

struct m : mtf::dim<"m", 6> {};
struct n : mtf::dim<"n", 40> {};

template <template <class...> class Tensor>
struct one {
  Tensor<m, n> x;
  MTF_FIELDS(x);
};

TEST_CASE("the variance of numbers that are far from 0 is PyTorch's, and its gradient") {
  mtf::single_rank alone;
  auto const check = [&]<class T>(T, double near_value, double near_slope) {
    backend b(alone);
    using here = mtf::place<T, mtf::layout<mtf::mesh<>>, backend>;
    auto const& far = expected("far");
    one<here::template tensor> const p{here::template from_global<m, n>(b, std::vector<T>(far.begin(), far.end()))};
    auto const found = mtf::to_global(mtf::variance<n>(p.x));
    for (std::size_t i = 0; i < found.size(); ++i)
      CHECK(found[i] == doctest::Approx(expected("variance.value")[i]).epsilon(near_value));
    auto const g = mtf::value_and_grad([](auto const& of) { return mtf::sum(mtf::variance<n>(of.x)); })(p)
                       .gradients.x.complete()
                       .local();
    for (std::size_t i = 0; i < g.size(); ++i)
      CHECK(std::abs(static_cast<double>(g[i]) - expected("variance.slope")[i]) <= near_slope);
  };
  check(double{}, 1e-12, 1e-12);
  // Of float's squares the digits end before those of the variance begin. What the mean is rounded by, up to 2^-11, is
  // in each slope, as in PyTorch's of float.
  check(float{}, 1e-5, 2 * 0x1p-11 / n::extent);
}

TEST_CASE("a variance of bfloat16 is not taken about a rounded mean, and of integers is float") {
  mtf::single_rank alone;
  backend b(alone);
  std::vector<float> numbers(240);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i % 2 == 0 ? 256.0F : 258.0F;
  auto const x = mtf::place<float, mtf::layout<mtf::mesh<>>, backend>::from_global<m, n>(b, numbers);
  CHECK(mtf::item(mtf::variance(mtf::cast<mtf::bfloat16>(x))) == 1);
  CHECK(mtf::to_global(mtf::cast<float>(mtf::variance<n>(mtf::cast<mtf::bfloat16>(x)))) == std::vector<float>(6, 1.0F));
  CHECK(mtf::item(mtf::variance(mtf::cast<std::int32_t>(x))) == 1);
  CHECK(mtf::item(mtf::variance(x > 257)) == 0.25F);
}

TEST_CASE("sums and weighted means of bfloat16 along a dimension are float's, rounded once") {
  mtf::single_rank alone;
  backend b(alone);
  std::vector<float> numbers(240);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.5F + static_cast<float>(i * 37 % 32) / 32;
  auto const x = mtf::place<float, mtf::layout<mtf::mesh<>>, backend>::from_global<m, n>(b, numbers);
  auto const narrow = mtf::cast<mtf::bfloat16>(x);  // all of them exactly
  auto const rounded = [](auto const& of) { return mtf::to_global(mtf::cast<float>(mtf::cast<mtf::bfloat16>(of))); };
  CHECK(rounded(mtf::sum<n>(narrow)) == rounded(mtf::sum<n>(x)));
  CHECK(rounded(mtf::weighted_mean<n>(narrow, narrow)) == rounded(mtf::weighted_mean<n>(x, x)));
  CHECK(rounded(mtf::weighted_mean<m>(narrow, x > 1)) == rounded(mtf::weighted_mean<m>(x, x > 1)));
}

TEST_CASE("logic of bools, and whether one or all hold") {
  mtf::single_rank alone;
  backend b(alone);
  struct two : mtf::dim<"two", 2> {};
  struct four : mtf::dim<"four", 4> {};
  auto const x = whole_place::from_global<four>(b, std::vector<std::int32_t>{0, 0, 1, 1}) == 1;
  auto const y = whole_place::from_global<four>(b, std::vector<std::int32_t>{0, 2, 0, 2});
  CHECK(mtf::to_global(x && y) == std::vector<bool>{false, false, false, true});
  CHECK(mtf::to_global(x || y) == std::vector<bool>{false, true, true, true});
  CHECK(mtf::to_global(!x) == std::vector<bool>{true, true, false, false});
  CHECK(mtf::item(mtf::reduce_any(x)));
  CHECK(!mtf::item(mtf::reduce_all(x)));
  // There and back.
  using bools = mtf::place<bool, mtf::layout<mtf::mesh<>>, backend>;
  std::vector<bool> const some{true, false, false, true, true, true, false, true};
  auto const z = bools::from_global<two, four>(b, some);
  CHECK(mtf::to_global(z) == some);
  CHECK(mtf::to_global(mtf::reduce_all<two>(z)) == std::vector<bool>{true, false, false, true});
  CHECK(mtf::to_global(mtf::reduce_any<two>(z)) == std::vector<bool>{true, true, false, true});
}

TEST_CASE("an assignment gives x another value, and copies of it none") {
  mtf::single_rank alone;
  backend b(alone);
  auto x = real_place::from_global<m>(b, std::vector<double>{-5, -1, 0, 1, 2, 7});
  auto const before = x;
  x += before;
  x -= 1;
  x *= 2;
  x /= mtf::full_like(x, 4);
  x %= 3;
  CHECK(mtf::to_global(before) == std::vector<double>{-5, -1, 0, 1, 2, 7});
  CHECK(mtf::to_global(x) == std::vector<double>{0.5, 1.5, 2.5, 0.5, 1.5, 0.5});
  auto ids = whole_place::from_global<m>(b, std::vector<std::int32_t>{-5, -1, 0, 1, 2, 7});
  ids %= 4;
  CHECK(mtf::to_global(ids) == std::vector<std::int32_t>{3, 3, 0, 1, 2, 3});
  CHECK(mtf::to_global(mtf::floor_divide(before, -2)) == std::vector<double>{2, 0, -0.0, -1, -1, -4});
  CHECK_THROWS_AS(ids %= 0, mtf::user_error);
  CHECK_THROWS_AS(mtf::floor_divide(ids, 0), mtf::user_error);
}

}  // namespace
