// Casts, sums of squares and updates of many arrays, one after the other, which a device gets in a few launches: as one
// by one, also where they use each other's results, and memory that others had.
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include <mtf/math/updates.hpp>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

using vec = std::vector<double>;
/// Lengths of more arrays than one launch takes, among them none, one, whole chunks, and one more.
std::vector<index> lengths() {
  std::vector<index> all{0, 1, 16384, 16385, 70001, 3};
  for (index i = 0; i < 150; ++i) all.push_back(i * 37 % 501);
  return all;
}

loops<2> flat(index n) { return {.ndim = 1, .extent = {n}, .stride = {{{1}, {1}}}}; }

TEST_CASE("many arrays: cast, summed, updated, and cast again") {
  auto const n = lengths();
  std::vector<std::unique_ptr<array<float>>> p, kept;
  std::vector<std::unique_ptr<array<bfloat16>>> g, after;
  array<double> total(vec{1.0});
  mtf::updates::sgd<float> const with{0.25F, 0.5F, 0.0F};
  std::vector<vec> want_p;
  double want_total = 1;
  for (std::size_t i = 0; i < n.size(); ++i) {
    vec x(size(n[i]));
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<double>((i * 7 + j * 3) % 64) / 8 - 4;
    p.push_back(std::make_unique<array<float>>(x));
    kept.push_back(std::make_unique<array<float>>(vec(x.size(), 2)));
    g.push_back(std::make_unique<array<bfloat16>>(n[i]));
    after.push_back(std::make_unique<array<bfloat16>>(n[i]));
    for (double const v : x) want_total += v * v;  // exact: eighths
    for (double& v : x) v -= 0.25 * (v + 0.5 * 2);
    want_p.push_back(x);
  }
  for (std::size_t i = 0; i < n.size(); ++i)
    device().run(primitives::copy<bfloat16, float>{flat(n[i]), g[i]->get(), p[i]->get()});
  for (std::size_t i = 0; i < n.size(); ++i)
    device().run(primitives::square_sum<bfloat16>{n[i], total.get(), g[i]->get()});
  for (std::size_t i = 0; i < n.size(); ++i)
    device().run(primitives::update<mtf::updates::sgd<float>, float, bfloat16>{
        n[i], p[i]->get(), g[i]->get(), {kept[i]->get()}, with, nullptr});
  for (std::size_t i = 0; i < n.size(); ++i)
    device().run(primitives::copy<bfloat16, float>{flat(n[i]), after[i]->get(), p[i]->get()});
  CHECK(total.host()[0] == want_total);
  for (std::size_t i = 0; i < n.size(); ++i) {
    CHECK(p[i]->host() == want_p[i]);
    vec rounded;
    for (double const v : want_p[i]) rounded.push_back(convert<double>(convert<bfloat16>(v)));
    CHECK(after[i]->host() == rounded);
  }
}

TEST_CASE("an array that is used again comes after what was done to it") {
  index const n = 20000;
  array<float> p(vec(size(n), 1)), kept(vec(size(n), 0)), other(vec(size(n), 5)), others(vec(size(n), 0));
  array<float> const g(vec(size(n), 1));
  array<bfloat16> cast(n);
  mtf::updates::sgd<float> const with{0.5F, 0.0F, 0.0F};
  using update = primitives::update<mtf::updates::sgd<float>, float>;
  device().run(update{n, p.get(), g.get(), {kept.get()}, with, nullptr});
  device().run(update{n, other.get(), p.get(), {others.get()}, with, nullptr});  // reads what the one before wrote
  device().run(update{n, p.get(), other.get(), {kept.get()}, with, nullptr});    // and back
  device().run(primitives::copy<bfloat16, float>{flat(n), cast.get(), p.get()});
  device().run(primitives::copy<float, bfloat16>{flat(n), p.get(), cast.get()});
  device().run(primitives::copy<bfloat16, float>{flat(n), cast.get(), g.get()});  // overwrites what the last one reads
  CHECK(other.host() == vec(size(n), 4.75));
  CHECK(p.host() == vec(size(n), 0.5 - 0.5 * 4.75));
  CHECK(cast.host() == vec(size(n), 1));
}

TEST_CASE("an array that is given back before what was noted is launched") {
  array<double> total(vec{0.0});
  array<float> const filler(vec(100, 1));
  for (int i = 0; i < 52; ++i) device().run(primitives::square_sum<float>{100, total.get(), filler.get()});
  {
    array<float> const gone(vec(100, 2));
    device().run(primitives::square_sum<float>{100, total.get(), gone.get()});
  }
  CHECK(total.host()[0] == 52 * 100 + 400);
}

TEST_CASE("more sums than one batch has") {
  array<double> total(vec{0.0});
  index const n = 16384 * 3 + 1, count = 6000;
  array<float> const x(vec(size(n), 1));
  for (index i = 0; i < count; ++i) device().run(primitives::square_sum<float>{n, total.get(), x.get()});
  CHECK(total.host()[0] == static_cast<double>(n * count));
}

TEST_CASE("a moving average, which keeps nothing") {
  index const n = 1000;
  array<float> average(vec(size(n), 1));
  array<float> const x(vec(size(n), 3));
  device().run(primitives::update<mtf::updates::average<float>, float>{n, average.get(), x.get(), {}, {0.5F}, nullptr});
  CHECK(average.host() == vec(size(n), 2));
}

TEST_CASE("the factor by which gradients are clipped is the host's, and NaN where the norm is not finite") {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  array<double> found(index{1});
  auto const of = [&](double sum, double limit) {
    array<double> const squares(vec{sum});
    device().run(primitives::clip_factor{squares.get(), found.get(), limit});
    return found.host()[0];
  };
  for (double const sum : {0.0, 1e-300, 1e-20, 0.3, 1.0, 2.0, 12345.678, 1e20, 1e300})
    for (double const limit : {0.0, 1e-3, 1.0, 2.5, 1e6, infinity}) {
      double const factor = limit / (std::sqrt(sum) + 1e-6);
      CHECK(of(sum, limit) == (limit > 0 && factor < 1 ? factor : 1.0));  // as PyTorch has it, to the last bit
    }
  for (double const limit : {0.0, 1.0, infinity})
    for (double const sum : {infinity, nan, -1.0}) CHECK(std::isnan(of(sum, limit)));
}

TEST_CASE("the factor comes from memory, and without one nothing is written") {
  auto const n = lengths();
  array<double> const quarter(vec{0.25}), none(vec{std::numeric_limits<double>::quiet_NaN()});
  mtf::updates::sgd<float> const with{0.5F, 0.0F, 0.0F};
  std::vector<std::unique_ptr<array<float>>> p, kept;
  std::vector<std::unique_ptr<array<bfloat16>>> g;
  for (index const length : n) {
    p.push_back(std::make_unique<array<float>>(vec(size(length), 1)));
    kept.push_back(std::make_unique<array<float>>(vec(size(length), 3)));
    g.push_back(std::make_unique<array<bfloat16>>(vec(size(length), 2)));
  }
  auto const update_all = [&](double const* factor) {
    for (std::size_t i = 0; i < n.size(); ++i)
      device().run(primitives::update<mtf::updates::sgd<float>, float, bfloat16>{
          n[i], p[i]->get(), g[i]->get(), {kept[i]->get()}, with, factor});
  };
  update_all(none.get());
  for (std::size_t i = 0; i < n.size(); ++i) {
    CHECK(p[i]->host() == vec(size(n[i]), 1));
    CHECK(kept[i]->host() == vec(size(n[i]), 3));
  }
  update_all(quarter.get());
  update_all(none.get());
  for (std::size_t i = 0; i < n.size(); ++i) {
    CHECK(p[i]->host() == vec(size(n[i]), 0.75));
    CHECK(kept[i]->host() == vec(size(n[i]), 0.5));
  }
}

TEST_CASE("state that is rounded at random, with a factor and without one") {
  index const n = 20000;
  array<double> const quarter(vec{0.25}), none(vec{std::numeric_limits<double>::quiet_NaN()});
  array<float> p(vec(size(n), 1));
  array<float> const g(vec(size(n), 2));
  array<bfloat16> kept(vec(size(n), 3));
  primitives::draws const random{{.local = {.ndim = 1, .extent = {n}, .stride = {{{1}}}}}, 7};
  using update = primitives::update<mtf::updates::momentum<float>, float, float, bfloat16>;
  device().run(update{n, p.get(), g.get(), {kept.get()}, {1, 1, 0}, none.get(), random});
  CHECK(p.host() == vec(size(n), 1));
  CHECK(kept.host() == vec(size(n), 3));
  device().run(update{n, p.get(), g.get(), {kept.get()}, {1, 1, 0}, quarter.get(), random});
  CHECK(p.host() == vec(size(n), -2.5));
  CHECK(kept.host() == vec(size(n), 3.5));
}

TEST_CASE("sums into several numbers") {
  index const n = 30000;
  array<float> const x(vec(size(n), 2)), y(vec(size(n), 3));
  array<double> a(vec{0.0}), b(vec{10.0});
  device().run(primitives::square_sum<float>{n, a.get(), x.get()});
  device().run(primitives::square_sum<float>{n, b.get(), y.get()});
  device().run(primitives::square_sum<float>{n, a.get(), y.get()});
  CHECK(a.host()[0] == 13.0 * static_cast<double>(n));
  CHECK(b.host()[0] == 10 + 9.0 * static_cast<double>(n));
}

}  // namespace
}  // namespace kernels
