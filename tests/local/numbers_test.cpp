// Integers, bools and numbers beside tensors; whole exponents; dropout's extreme rates, losses' options.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

namespace {

using backend = mtf::kokkos_backend<>;
struct n : mtf::dim<"n", 15> {};
struct m : mtf::dim<"m", 15> {};
struct many : mtf::dim<"many", 200'000> {};

template <class T>
using place = mtf::place<T, mtf::layout<mtf::mesh<>>, backend>;
template <class T, class... D>
using tensor = typename place<T>::template tensor<D...>;
template <class X>
using element = typename X::element_type;

/// -7 to 7.
template <class T, class D>
tensor<T, D> small(backend& machine) {
  std::vector<T> v;
  for (int i = -7; i <= 7; ++i) v.push_back(static_cast<T>(i));
  return mtf::from_global<tensor<T, D>>(machine, v);
}
/// The same elements, as numbers of type double.
template <class X>
std::vector<double> numbers(X const& x) {
  return mtf::cast<double>(x).local();
}

template <template <class...> class Tensor>
struct one {
  Tensor<n> x;
  MTF_FIELDS(x);
};
template <template <class...> class Tensor>
struct two {
  Tensor<n> x, y;
  MTF_FIELDS(x, y);
};

TEST_CASE_TEMPLATE("integers divide as in C++", T, std::int32_t, std::int64_t) {
  mtf::single_rank alone;
  backend machine(alone);
  auto const x = small<T, n>(machine);
  auto const y = small<T, m>(machine);
  for (T k = -4; k <= 4; ++k) {
    if (k == 0) {
      CHECK_THROWS_AS(x / k, mtf::user_error);
      continue;
    }
    auto const by = (x / k).local(), into = (k / x).local();
    static_assert(std::is_same_v<element<decltype(x / k)>, T>);
    for (T i = -7; i <= 7; ++i) {
      CHECK(by[static_cast<std::size_t>(i + 7)] == i / k);
      CHECK(into[static_cast<std::size_t>(i + 7)] == (i == 0 ? 0 : k / i));
    }
  }
  auto const all = mtf::map(mtf::functions::divide{}, mtf::broadcast<n, m>(x), mtf::broadcast<n, m>(y)).local();
  for (T i = -7; i <= 7; ++i)
    for (T j = -7; j <= 7; ++j) CHECK(all[static_cast<std::size_t>((i + 7) * 15 + j + 7)] == (j == 0 ? 0 : i / j));
  constexpr T lowest = std::numeric_limits<T>::lowest();
  CHECK((mtf::full<tensor<std::int32_t>>(machine, std::numeric_limits<std::int32_t>::lowest()) / -1).local()[0] == 0);
  CHECK(mtf::math::divide(lowest, T(-1)) == 0);
}

TEST_CASE("numbers beside integers are integers of their type") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const x = small<std::int32_t, n>(machine);
  for (std::size_t i = 0; i < 15; ++i) {
    auto const v = static_cast<std::int32_t>(i) - 7;
    CHECK((x + 3).local()[i] == v + 3);
    CHECK((x - 3).local()[i] == v - 3);
    CHECK((3 - x).local()[i] == 3 - v);
    CHECK((x * 3).local()[i] == 3 * v);
    CHECK(numbers(x < 1)[i] == (v < 1 ? 1 : 0));
    CHECK(mtf::clip(x, -2, 5).local()[i] == std::clamp(v, -2, 5));
    CHECK(((x > 0) + 2).local()[i] == (v > 0 ? 3 : 2));  // bools count as integers
    CHECK(((x > 0) * 5).local()[i] == (v > 0 ? 5 : 0));
  }
  CHECK_THROWS_AS(x + 5'000'000'000, mtf::user_error);
  CHECK_THROWS_AS(static_cast<void>(x < 5'000'000'000), mtf::user_error);
  CHECK((mtf::cast<std::int64_t>(x) + 5'000'000'000).local()[0] == 5'000'000'000 - 7);
  CHECK_THROWS_AS((mtf::full<tensor<std::int32_t, n>>(machine, 0.5)), mtf::user_error);
  CHECK_THROWS_AS((mtf::full<tensor<std::int32_t, n>>(machine, 3e9)), mtf::user_error);
  CHECK_THROWS_AS((mtf::full<tensor<std::int32_t, n>>(machine, std::nan(""))), mtf::user_error);
}

TEST_CASE("means of integers and bools are fractions, sums of bools counts") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const x = small<std::int32_t, n>(machine);
  static_assert(std::is_same_v<element<decltype(mtf::mean(x))>, float>);
  for (int k = -8; k <= 8; ++k) {
    int const above = std::clamp(7 - k, 0, 15);
    CHECK(mtf::item(mtf::mean(x > k)) == doctest::Approx(above / 15.0));
    CHECK(mtf::item(mtf::sum(x > k)) == above);
    CHECK(mtf::item(mtf::mean(x + k)) == doctest::Approx(k));
    CHECK(mtf::item(mtf::mean<n>(mtf::cast<std::int64_t>(x * 2 + k))) == doctest::Approx(k));
    CHECK(numbers(mtf::reduce_max(x > k))[0] == (above > 0 ? 1 : 0));
    CHECK(numbers(mtf::reduce_min(x > k))[0] == (above == 15 ? 1 : 0));
  }
  // In 64 bits: 32 do not hold them.
  static_assert(std::is_same_v<element<decltype(mtf::sum(x > 0))>, std::int64_t>);
  CHECK(mtf::item(mtf::sum(mtf::full<tensor<std::int32_t, n>>(machine, 2e9))) == 15 * std::int64_t{2'000'000'000});
}

TEST_CASE_TEMPLATE("whole exponents are products, of negative bases too", T, float, double, std::int32_t) {
  mtf::single_rank alone;
  backend machine(alone);
  auto const x = small<T, n>(machine);
  for (int k = std::is_integral_v<T> ? 0 : -6; k <= 6; ++k) {
    auto const power = numbers(mtf::pow(x, k));
    for (std::size_t i = 0; i < 15; ++i) {
      double const v = static_cast<double>(i) - 7;
      double const want = std::pow(v, k);
      if (k >= 0 || v == 0)
        CHECK(power[i] == want);  // integers and infinities: exact
      else
        CHECK(power[i] == doctest::Approx(want).epsilon(1e-6));
    }
    if constexpr (!std::is_integral_v<T>) CHECK(numbers(mtf::pow(x, static_cast<double>(k))) == power);
  }
  if constexpr (std::is_integral_v<T>) CHECK_THROWS_AS(mtf::pow(x, -1), mtf::user_error);
}

TEST_CASE("powers and their gradients agree with std::pow") {
  mtf::single_rank alone;
  backend machine(alone);
  one<place<double>::tensor> const whole{small<double, n>(machine)};
  for (int k = -3; k <= 4; ++k) {
    auto const [value, gradients] =
        mtf::value_and_grad([&](auto const& p) { return mtf::sum(mtf::pow(p.x, k)); })(whole);
    auto const g = gradients.x.is_zero() ? std::vector<double>(15) : gradients.x.complete().local();
    for (std::size_t i = 0; i < 15; ++i) {
      double const v = static_cast<double>(i) - 7;
      if (v == 0 && k < 1) continue;
      CHECK(g[i] == doctest::Approx(k * std::pow(v, k - 1)));
    }
  }
  // A tensor of exponents, whole ones for the bases that are negative.
  std::vector<double> base, exponent;
  for (int i = -7; i <= 7; ++i) {
    base.push_back(i);
    exponent.push_back(i < 0 ? i % 4 : 0.75 * i);
  }
  two<place<double>::tensor> const p{mtf::from_global<tensor<double, n>>(machine, base),
                                     mtf::from_global<tensor<double, n>>(machine, exponent)};
  auto const power = mtf::pow(p.x, p.y).local();
  auto const [value, gradients] = mtf::value_and_grad([](auto const& q) { return mtf::sum(mtf::pow(q.x, q.y)); })(p);
  auto const dx = gradients.x.complete().local(), dy = gradients.y.complete().local();
  for (std::size_t i = 0; i < 15; ++i) {
    CHECK(power[i] == doctest::Approx(std::pow(base[i], exponent[i])));
    if (base[i] != 0) CHECK(dx[i] == doctest::Approx(exponent[i] * std::pow(base[i], exponent[i] - 1)));
    if (base[i] > 0) CHECK(dy[i] == doctest::Approx(power[i] * std::log(base[i])));
  }
  CHECK(std::isnan(mtf::math::pow(-2.0, 0.5)));
  CHECK(mtf::math::pow(0.0, 0.0) == 1);
}

TEST_CASE_TEMPLATE("dropout at rate 1 gives zeros, beyond it an error", T, float, double) {
  mtf::single_rank alone;
  backend machine(alone);
  auto const x = mtf::ones<tensor<T, many>>(machine);
  for (double const rate : {1.0, 1 - 0x1p-20}) {
    double largest = 0;
    for (auto const v : mtf::dropout(x, rate, mtf::random_key(3)).local())
      largest = std::max(largest, std::abs(static_cast<double>(v)));
    CHECK(largest == 0);
  }
  for (double const rate : {-0.1, 1.1, std::nan("")})
    CHECK_THROWS_AS(mtf::dropout(x, rate, mtf::random_key(3)), mtf::user_error);
  // Just below 1 what is kept is scaled by as much: the mean stays.
  auto const kept = mtf::dropout(x, 0.99, mtf::random_key(3));
  CHECK(mtf::item(mtf::mean(kept)) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("a loss's options: out of range they are an error, smoothing with 1 forgets the label") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const logits = small<float, n>(machine);
  auto const label = mtf::full<tensor<std::int32_t>>(machine, 3);
  auto const loss = [&](mtf::cross_entropy_options const& o) { return mtf::cross_entropy<n>(logits, label, o); };
  for (double const x : {-0.1, 1.1, std::nan("")}) CHECK_THROWS_AS(loss({.label_smoothing = x}), mtf::user_error);
  for (double const x : {-0.1, std::nan("")}) CHECK_THROWS_AS(loss({.z_loss = x}), mtf::user_error);
  auto const total = mtf::item(mtf::logsumexp<n>(logits));
  CHECK(mtf::item(loss({.label_smoothing = 1})) == doctest::Approx(total));  // the mean of -7 to 7 is 0
  CHECK(mtf::item(loss({.z_loss = 2})) == doctest::Approx(mtf::item(loss({})) + 2 * total * total));
}

}  // namespace
