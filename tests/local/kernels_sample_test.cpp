// Positions drawn from rows, on shards and by one thread alone: against a plain version that sorts.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <mtf/math/sample.hpp>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

using mtf::math::dense_logits, mtf::math::one_thread, mtf::math::sample_options, mtf::math::sample_weights;

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

/// What the options say, in their order, of weights as the library has them.
std::int32_t plainly(std::vector<float> const& z, sample_options const& how, double uniform) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < z.size(); ++i)
    if (!std::isnan(z[i]) && z[i] != -infinity) order.push_back(i);
  if (order.empty()) return -1;
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return z[i] > z[j]; });
  float const largest = z[order[0]];
  if (!(how.temperature > 0) || largest == infinity) return static_cast<std::int32_t>(order[0]);
  sample_weights const weights(static_cast<index>(z.size()), largest, how.temperature);
  auto const of = [&](std::size_t i) { return static_cast<long double>(weights.of(z[i])); };
  auto const one = static_cast<long double>(weights.one());
  long double const min_p = std::isnan(how.min_p) ? 0 : std::min(how.min_p, 1.0F);
  std::size_t kept = order.size();
  if (how.top_k > 0)
    while (kept > static_cast<std::size_t>(how.top_k) &&
           z[order[kept - 1]] < z[order[static_cast<std::size_t>(how.top_k) - 1]])
      --kept;
  order.resize(kept);
  std::erase_if(order, [&](std::size_t i) { return of(i) == 0 || of(i) < min_p * one; });
  auto const total = [&] {
    return std::accumulate(order.begin(), order.end(), 0.0L, [&](long double sum, auto i) { return sum + of(i); });
  };
  if (how.top_p < 1) {
    long double const needed = total() * std::max(how.top_p, 0.0F);
    long double sum = 0;
    for (kept = 0; kept == 0 || sum < needed; ++kept) sum += of(order[kept]);
    order.resize(kept);
  }
  std::sort(order.begin(), order.end());
  long double const beyond = total() * uniform;
  long double sum = 0;
  for (auto const i : order)
    if ((sum += of(i)) > beyond) return static_cast<std::int32_t>(i);
  return -2;
}

/// One thread that is asked as many are.
struct one_of_many {
  template <class A, class F>
  A sum(index n, F f) const {
    return one_thread{}.sum<A>(n, f);
  }
  template <class A, class F>
  A max(index n, F f) const {
    return one_thread{}.max<A>(n, f);
  }
};

struct drawing {
  sample_options how;
  double uniform;
};
/// What a row may be drawn by, the more usual and the odd.
drawing any_drawing(std::mt19937& random) {
  auto const one_of = [&](auto const&... all) {
    std::vector const some{all...};
    return some[std::uniform_int_distribution<std::size_t>(0, some.size() - 1)(random)];
  };
  return {{.temperature = one_of(1.0F, 0.7F, 0.0F, -1.0F, 1e-42F, 1e-6F, 30.0F, 1e30F, infinity, nan),
           .min_p = one_of(0.0F, 0.0F, 0.1F, 0.9F, 1.0F, 2.0F, -1.0F, nan),
           .top_k = one_of(0, 0, 1, 2, 5, 40, 1 << 30, -3),
           .top_p = one_of(1.0F, 1.0F, 0.9F, 0.5F, 0.0F, -1.0F, 1e-30F, 0x1.fffffep-1F, nan, 2.0F)},
          one_of(0.0, 0.5, 0x1.fffffffffffffp-1, std::uniform_real_distribution<double>(0, 1)(random), 0x1p-60)};
}
/// Logits of many kinds: with ties, of few values, special ones, all alike.
std::vector<float> any_logits(index n, std::mt19937& random) {
  std::vector<float> z;
  auto const kind = std::uniform_int_distribution<int>(0, 6)(random);
  constexpr float special[]{nan, -nan, infinity, -infinity, 0.0F, -0.0F, 1.0F, -1.0F, 3e38F, -3e38F, 1e-45F};
  // Of kind 5 some at the start, as it is rare that none of a long row is infinity.
  auto const some = std::uniform_int_distribution<std::size_t>(3, 10)(random);
  for (index j = 0; j < n; ++j) {
    float const drawn = std::normal_distribution<float>(0, 4)(random);
    z.push_back(kind < 2    ? drawn
                : kind == 2 ? std::round(drawn)
                : kind == 3 ? special[std::uniform_int_distribution<std::size_t>(0, 10)(random)]
                : kind == 4 ? 2.5F
                : kind == 5 ? special[std::uniform_int_distribution<std::size_t>(3, some)(random)]
                            : special[std::uniform_int_distribution<std::size_t>(0, 1)(random) * 3]);
  }
  return z;
}

/// Rows of all kinds: of one element, short, of a warp's and of a block's, of one column and of many, with pads.
constexpr rows shapes[]{{40, 1, 1},    {3, 5, 7},   {1, 1, 4},        {2, 7, 30, 9},
                        {1, 20000, 2}, {60, 33, 2}, {1, 700, 3, 704}, {0, 5, 1}};

TEST_CASE("a position is the one that sorting finds") {
  std::mt19937 random(3);
  for (auto const& r : shapes)
    for (int repeat = 0; repeat < 6; ++repeat) {
      CAPTURE(r.n);
      std::vector<double> x(size(r.outer * r.step())), temperature, min_p, top_k, top_p, uniform;
      std::vector<std::int32_t> expected, by_one, by_many;
      for (index row = 0; row < r.count(); ++row) {
        auto const z = any_logits(r.n, random);
        auto const d = any_drawing(random);
        for (index j = 0; j < r.n; ++j)
          x[size(row / r.inner * r.step() + j * r.inner + row % r.inner)] = static_cast<double>(z[size(j)]);
        temperature.push_back(static_cast<double>(d.how.temperature));
        min_p.push_back(static_cast<double>(d.how.min_p));
        top_k.push_back(d.how.top_k);
        top_p.push_back(static_cast<double>(d.how.top_p));
        uniform.push_back(d.uniform);
        expected.push_back(plainly(z, d.how, d.uniform));
        by_one.push_back(mtf::math::sampled_row(one_thread{}, r.n, dense_logits{z.data()}).drawn(d.how, d.uniform));
        by_many.push_back(mtf::math::sampled_row(one_of_many{}, r.n, dense_logits{z.data()}).drawn(d.how, d.uniform));
      }
      CHECK(by_one == expected);
      CHECK(by_many == expected);
      array<float> const logits(x), t(temperature), m(min_p), p(top_p);
      array<std::int32_t> const k(top_k), out(r.count());
      array<double> const u(uniform);
      device().run(
          primitives::sample_rows{r, out.get(), logits.get(), u.get(), {}, {t.get(), m.get(), k.get(), p.get()}});
      CHECK(out.raw() == expected);
    }
}

TEST_CASE("one set of options is that of all rows") {
  std::mt19937 random(4);
  rows const r{30, 90, 1};
  std::vector<double> x, uniform;
  std::vector<std::int32_t> expected;
  sample_options const how{.temperature = 0.8F, .min_p = 0.01F, .top_k = 30, .top_p = 0.9F};
  for (index row = 0; row < r.count(); ++row) {
    auto const z = any_logits(r.n, random);
    for (float const v : z) x.push_back(static_cast<double>(v));
    uniform.push_back(std::uniform_real_distribution<double>(0, 1)(random));
    expected.push_back(plainly(z, how, uniform.back()));
  }
  array<float> const logits(x);
  array<double> const u(uniform);
  array<std::int32_t> const out(r.count());
  device().run(primitives::sample_rows{r, out.get(), logits.get(), u.get(), how, {}});
  CHECK(out.raw() == expected);
}

TEST_CASE("weights are exponentials, and never increase with what they are of") {
  for (float const temperature : {1.0F, 0.3F, 7.0F})
    for (index const n : {index{2}, index{50257}, index{1} << 23, (index{1} << 23) + 1, index{1} << 30}) {
      float const largest = 2.5F;
      sample_weights const weights(n, largest, temperature);
      double const one = n <= index{1} << 23 ? 0x1p40 : n <= index{1} << 24 ? 0x1p39 : 0x1p33;
      CHECK(static_cast<double>(weights.one()) == one);
      CHECK(static_cast<double>(n) * one <= 0x1p63);
      CHECK(weights.of(largest) == weights.one());
      CHECK(weights.of(-infinity) == 0);
      CHECK(weights.of(nan) == 0);
      CHECK(weights.of(-3e38F) == 0);
      std::uint64_t before = weights.one();
      int wrong = 0;
      for (int i = 0; i < 200000; ++i) {
        float const z = largest - temperature * 30.0F * static_cast<float>(i) / 200000;
        std::uint64_t const w = weights.of(z);
        double const exact =
            std::exp((static_cast<double>(z) - static_cast<double>(largest)) / static_cast<double>(temperature)) * one;
        wrong += w <= before && std::abs(static_cast<double>(w) - exact) <= exact * 0x1p-24 + 1 ? 0 : 1;
        before = w;
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("the upper half of a product") {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  CHECK(mtf::math::upper_product(all, all) == all - 1);
  CHECK(mtf::math::upper_product(all, 1) == 0);
  CHECK(mtf::math::upper_product(all, 2) == 1);
  CHECK(mtf::math::upper_product(std::uint64_t{1} << 32U, std::uint64_t{1} << 32U) == 1);
  std::mt19937_64 random(5);
  for (int i = 0; i < 1000; ++i) {
    std::uint64_t const a = random(), b = random() >> (i % 64);
    __extension__ using wide = unsigned __int128;
    CHECK(mtf::math::upper_product(a, b) == static_cast<std::uint64_t>(static_cast<wide>(a) * b >> 64U));
  }
}

TEST_CASE("positions are drawn as often as they are likely") {
  std::vector<float> const z{1, 0, 3, -2, 2};
  double sum = 0;
  for (float const v : z) sum += std::exp(static_cast<double>(v) / 2);
  std::vector<int> count(z.size());
  constexpr int draws = 100000;
  for (int i = 0; i < draws; ++i)
    ++count[size(
        mtf::math::sampled_row(one_thread{}, 5, dense_logits{z.data()}).drawn({.temperature = 2}, (i + 0.5) / draws))];
  for (std::size_t j = 0; j < z.size(); ++j)
    CHECK(std::abs(count[j] - draws * std::exp(static_cast<double>(z[j]) / 2) / sum) <= 1.5);
}

}  // namespace
}  // namespace kernels
