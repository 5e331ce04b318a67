// Random numbers (the same wherever the layout puts an element; moments) and optimizers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

using mtf::backend::placement;

struct moments {
  double mean, variance;
};
moments moments_of(std::vector<double> const& x) {
  double mean = 0, variance = 0;
  for (double v : x) mean += v / static_cast<double>(x.size());
  for (double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  return {mean, variance};
}

placement dense(index n) { return {{1, {n}, {{{1}}}}, 0}; }

template <class T, class Generate>
void check_placements(Generate const& generate) {
  index const m = 12, n = 50;
  array<T> whole(m * n);
  generate(placement{{2, {m, n}, {{{n, 1}}}}, 0}, whole.get());
  auto const all = whole.raw();
  for (index row_splits : {1, 3})
    for (index column_splits : {1, 2, 5})
      for (index r = 0; r < row_splits; ++r)
        for (index c = 0; c < column_splits; ++c) {
          index const rows_here = m / row_splits, columns_here = n / column_splits;
          array<T> part(rows_here * columns_here);
          index const offset = r * rows_here * n + c * columns_here;
          generate(placement{{2, {rows_here, columns_here}, {{{n, 1}}}}, offset}, part.get());
          auto const got = part.raw();
          bool same = true;
          for (index i = 0; i < rows_here; ++i)
            for (index j = 0; j < columns_here; ++j)
              same = same && got[static_cast<std::size_t>(i * columns_here + j)] ==
                                 all[static_cast<std::size_t>(offset + i * n + j)];
          CHECK(same);
        }
  array<T> transposed(m * n);
  generate(placement{{2, {n, m}, {{{1, n}}}}, 0}, transposed.get());
  auto const got = transposed.raw();
  bool same = true;
  for (index i = 0; i < m; ++i)
    for (index j = 0; j < n; ++j)
      same = same && got[static_cast<std::size_t>(j * m + i)] == all[static_cast<std::size_t>(i * n + j)];
  CHECK(same);
}

/// What momentum of 1 keeps of gradients g as bfloat16, of n elements whose first is element `first` of a line.
std::vector<float> kept_of(float g, index first, index n, std::uint64_t key) {
  array<float> p(std::vector<double>(static_cast<std::size_t>(n)));
  array<float> gradient(std::vector<double>(static_cast<std::size_t>(n), g));
  array<bfloat16> kept(std::vector<double>(static_cast<std::size_t>(n)));
  placement where{.local = {.ndim = 1, .extent = {n}, .stride = {mtf::backend::extents{1}}}, .offset = first};
  device().run(primitives::update<mtf::updates::momentum<float>, float, float, bfloat16>{
      n, p.get(), gradient.get(), {kept.get()}, {1, 1, 0}, nullptr, {where, key}});
  std::vector<float> found;
  for (double const x : kept.host()) found.push_back(static_cast<float>(x));
  return found;
}

TEST_CASE(
    "state of bfloat16 is rounded to one of its neighbours, its mean is what was to be kept, and layouts do not "
    "matter") {
  constexpr index n = 100000;
  for (float const sign : {1.0F, -1.0F})
    for (float const above : {0.0F, 1.0F / 8, 1.0F / 2, 7.0F / 8}) {
      CAPTURE(sign);
      CAPTURE(above);
      float const low = sign, high = sign * (1 + 0x1p-7F);
      auto const found = kept_of(sign * (1 + above * 0x1p-7F), 0, n, 17);
      index ups = 0, others = 0;
      for (float const x : found) {
        ups += x == high ? 1 : 0;
        others += x != high && x != low ? 1 : 0;
      }
      CHECK(others == 0);
      double const deviation = std::sqrt(n * above * (1 - above));
      CHECK(std::abs(static_cast<double>(ups) - n * above) <= 5 * deviation);  // of what it holds nothing is drawn
    }
  float const between = 1 + 0x1p-8F;
  auto const all = kept_of(between, 0, 1000, 17), second = kept_of(between, 500, 500, 17);
  CHECK(std::equal(second.begin(), second.end(), all.begin() + 500));
  CHECK(all != kept_of(between, 0, 1000, 18));
  float const infinity = std::numeric_limits<float>::infinity();
  CHECK(kept_of(infinity, 0, 1, 17)[0] == infinity);
}

}  // namespace

TEST_CASE_TEMPLATE("random numbers do not depend on the placement", T, float, double, bfloat16) {
  auto& d = device();
  check_placements<T>([&](placement const& p, T* out) { d.run(primitives::random_uniform{p, 42, out, -1.0, 3.0}); });
  check_placements<T>([&](placement const& p, T* out) { d.run(primitives::random_normal{p, 43, out, 1.0, 2.0}); });
  check_placements<T>(
      [&](placement const& p, T* out) { d.run(primitives::random_truncated_normal{p, 44, out, 0.0, 0.02}); });
  check_placements<T>([&](placement const& p, T* out) {
    index const n = p.local.size();
    array<T> x(n);
    d.run(primitives::fill{x.get(), n, convert<T>(1.0)});
    d.run(primitives::dropout{p, 45, 0.25, out, x.get()});
  });
}

TEST_CASE("batches have the words of Random123") {
  using mtf::kokkos::philox_batch;
  std::uint64_t counter[philox_batch], first[philox_batch], second[philox_batch];
  for (std::uint64_t const start : {0ULL, 0xfffffff0ULL, 0xfffffffffffffff0ULL})
    for (std::uint64_t const key : {0ULL, 0x0123456789abcdefULL, ~0ULL})
      for (std::uint32_t const draw : {0U, 3U}) {
        for (std::uint64_t i = 0; i < philox_batch; ++i) counter[i] = start + 3 * i;
        mtf::kokkos::philox_pairs(key, counter, draw, first, second);
        bool same = true;
        for (int i = 0; i < philox_batch; ++i) {
          auto const w = mtf::kokkos::philox(key, counter[i], draw);
          same = same && first[i] == (std::uint64_t{w.word[1]} << 32U | w.word[0]) &&
                 second[i] == (std::uint64_t{w.word[3]} << 32U | w.word[2]);
        }
        CHECK(same);
      }
}

TEST_CASE("the logarithm and the cosine behind normal numbers") {
  double worst_log = 0, worst_cosine = 0;
  for (int i = 1; i <= 100000; ++i) {
    double const x = i * 1e-5, small = std::ldexp(x, -i % 52);
    for (double const u : {x, small})
      worst_log = std::max(worst_log, std::abs(mtf::kokkos::log_of_unit(u) - std::log(u)) / (1 - std::log(u)));
    double const turn = (i - 1) * 1e-5;
    worst_cosine =
        std::max(worst_cosine, std::abs(mtf::kokkos::cosine_of_turns(turn) - std::cos(6.283185307179586 * turn)));
  }
  CHECK(worst_log < 1e-13);
  CHECK(worst_cosine < 1e-13);
  CHECK(mtf::kokkos::log_of_unit(1.0) == 0.0);
}

TEST_CASE("random numbers have the right moments, and agree between element types") {
  auto& d = device();
  index const n = 400000;
  array<double> x(n);
  d.run(primitives::random_uniform{dense(n), 1, x.get(), -1.0, 3.0});
  auto uniform = x.host();
  auto m = moments_of(uniform);
  CHECK(m.mean == doctest::Approx(1.0).epsilon(0.01));
  CHECK(m.variance == doctest::Approx(16.0 / 12).epsilon(0.01));
  CHECK(*std::min_element(uniform.begin(), uniform.end()) >= -1.0);
  CHECK(*std::max_element(uniform.begin(), uniform.end()) < 3.0);

  d.run(primitives::random_normal{dense(n), 2, x.get(), 1.0, 2.0});
  auto const normal = x.host();
  m = moments_of(normal);
  CHECK(std::abs(m.mean - 1.0) < 0.015);
  CHECK(m.variance == doctest::Approx(4.0).epsilon(0.01));
  double correlation = 0;
  for (std::size_t i = 1; i < normal.size(); ++i)
    correlation += (normal[i] - 1) * (normal[i - 1] - 1) / 4 / static_cast<double>(n);
  CHECK(std::abs(correlation) < 0.01);
  array<float> y(n);
  d.run(primitives::random_normal{dense(n), 2, y.get(), 1.0, 2.0});
  check_close(y.host(), normal, 1e-7);
  d.run(primitives::random_normal{dense(n), 3, x.get(), 1.0, 2.0});
  CHECK(x.host() != normal);

  d.run(primitives::random_truncated_normal{dense(n), 4, x.get(), 0.0, 1.0});
  auto const truncated = x.host();
  m = moments_of(truncated);
  CHECK(std::abs(m.mean) < 0.01);
  CHECK(m.variance == doctest::Approx(0.7737).epsilon(0.01));
  CHECK(*std::max_element(truncated.begin(), truncated.end()) <= 2.0);
  CHECK(*std::min_element(truncated.begin(), truncated.end()) >= -2.0);

  d.run(primitives::fill{x.get(), n, 1.0});
  d.run(primitives::dropout{dense(n), 5, 0.1, x.get(), x.get()});
  m = moments_of(x.host());
  CHECK(m.mean == doctest::Approx(1.0).epsilon(0.005));
  CHECK(m.variance == doctest::Approx(0.1 / 0.9).epsilon(0.02));
  d.run(primitives::fill{x.get(), n, 1.0});
  d.run(primitives::dropout{dense(n), 5, 0.0, x.get(), x.get()});
  CHECK(x.host() == std::vector<double>(static_cast<std::size_t>(n), 1.0));
}

TEST_CASE_TEMPLATE("adamw and sgd", T, float, double, bfloat16) {
  using A = compute_t<T>;
  for (index n : {1, 7, 1000, 20000}) {
    array<T> p(numbers(n, 1)), g(numbers(n, 4));
    array<A> m(numbers(n, 2));
    auto squares = numbers(n, 3);
    for (double& x : squares) x = x * x;
    array<A> v(squares);
    auto ph = p.host(), mh = m.host(), vh = v.host();
    auto const gh = g.host();
    double const lr = 0.1, b1 = 0.9, b2 = 0.99, eps = 1e-6, decay = 0.05, c1 = 3, c2 = 5, scale = 0.5;
    array<double> const scaled(std::vector<double>{scale});
    mtf::updates::adamw<A> const adamw{A(lr), A(1 - b1), A(1 - b2), A(eps), A(decay), A(c1), A(c2)};
    device().run(
        primitives::update<mtf::updates::adamw<A>, T>{n, p.get(), g.get(), {m.get(), v.get()}, adamw, scaled.get()});
    for (std::size_t i = 0; i < ph.size(); ++i) {
      double const grad = gh[i] * scale;
      mh[i] = b1 * mh[i] + (1 - b1) * grad;
      vh[i] = b2 * vh[i] + (1 - b2) * grad * grad;
      ph[i] -= lr * (mh[i] * c1 / (std::sqrt(vh[i] * c2) + eps) + decay * ph[i]);
    }
    check_close(m.host(), mh, tolerance<A>);
    check_close(v.host(), vh, tolerance<A>);
    check_close(p.host(), ph, tolerance<T>);

    ph = p.host();
    mh = m.host();
    mtf::updates::sgd<A> const sgd{A(lr), A(b1), A(decay)};
    device().run(primitives::update<mtf::updates::sgd<A>, T>{n, p.get(), g.get(), {m.get()}, sgd, scaled.get()});
    for (std::size_t i = 0; i < ph.size(); ++i) {
      mh[i] = b1 * mh[i] + gh[i] * scale + decay * ph[i];
      ph[i] -= lr * mh[i];
    }
    check_close(p.host(), ph, tolerance<T>);
  }
}

}  // namespace kernels
