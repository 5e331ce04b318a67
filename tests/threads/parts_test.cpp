// Operations with an index, with two results, and one that uses an operand up, under layouts that are types and values:
// numbers and gradients as on one rank, and as loops over the whole tensors say.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/sorting.hpp>
#include <support/counted_backend.hpp>
#include <support/layouts_agree.hpp>

namespace {

struct m : mtf::dim<"m", 4> {};
struct n : mtf::dim<"n", 8> {};
struct part : mtf::dim<"part", 4> {};
struct largest : mtf::dim<"largest", 3> {};
struct most : mtf::dim<"most", 8> {};
using numbers = std::vector<double>;

template <template <class...> class Tensor>
struct inputs {
  Tensor<m, n> x;
  Tensor<part, m> y;
  MTF_FIELDS(x, y);
};
template <template <class...> class Tensor>
struct only {
  Tensor<m, n> x;
  MTF_FIELDS(x);
};
numbers const x_at = [] {
  numbers x(32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>((i * 7 + 3) % 11) - 5;  // with ties
  return x;
}();
numbers const y_at = [] {
  numbers y(16);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 0.25 * static_cast<double>(i) + 1;
  return y;
}();

/// Row r of x in descending order, of equal ones the first first: positions.
std::vector<std::size_t> descending(std::size_t r) {
  std::vector<std::size_t> at(8);
  std::iota(at.begin(), at.end(), std::size_t{0});
  std::sort(at.begin(), at.end(), [&](auto i, auto j) {
    return x_at[r * 8 + i] != x_at[r * 8 + j] ? x_at[r * 8 + i] > x_at[r * 8 + j] : i < j;
  });
  return at;
}

template <class Layout, class Backend>
void check_on(Backend& b) {
  using place = mtf::place<double, Layout, Backend>;
  using whole = mtf::place<std::int32_t, Layout, Backend>;
  inputs<place::template tensor> const p{mtf::from_global<typename place::template tensor<m, n>>(b, x_at),
                                         mtf::from_global<typename place::template tensor<part, m>>(b, y_at)};
  for (int const start : {0, 2, 4, 6, -1, 100}) {
    CAPTURE(start);
    auto const at = mtf::full<typename whole::template tensor<>>(b, start);
    auto const position = [&](std::size_t j) { return start + static_cast<std::int64_t>(j); };
    auto const there = [&](std::size_t j) { return position(j) >= 0 && position(j) < 8; };
    numbers sliced, updated = x_at, of_x(32), of_y(16), cleared(32, 1);
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t j = 0; j < 4; ++j) {
        auto const in_x = r * 8 + static_cast<std::size_t>(position(j));
        sliced.push_back(there(j) ? x_at[in_x] : std::numeric_limits<double>::quiet_NaN());
        if (!there(j)) continue;
        updated[in_x] = y_at[j * 4 + r];
        of_x[in_x] = 2 * x_at[in_x];
        of_y[j * 4 + r] = 1;
        cleared[in_x] = 0;
      }
    auto const same = [](numbers const& found, numbers const& expected) {
      return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                        [](double a, double e) { return a == e || (std::isnan(a) && std::isnan(e)); });
    };
    CHECK(same(mtf::to_global(mtf::slice<n, part>(p.x, at)), sliced));
    CHECK(same(mtf::to_global(mtf::update<n, part>(p.x, p.y, at)), updated));
    CHECK(same(mtf::to_global(p.x), x_at));
    if (start >= 0 && start <= 4) {  // a number in its place
      CHECK(same(mtf::to_global(mtf::slice<n, part>(p.x, start)), sliced));
      CHECK(same(mtf::to_global(mtf::update<n, part>(p.x, p.y, std::int64_t{start})), updated));
    } else {
      CHECK_THROWS_WITH_AS((mtf::slice<n, part>(p.x, start)),
                           doctest::Contains("is not within n 8: it can begin at 0 to 4"), mtf::user_error);
      CHECK_THROWS_AS((mtf::update<n, part>(p.x, p.y, start)), mtf::user_error);
    }
    if (start >= 0 && start <= 4) {
      auto const g =
          mtf::value_and_grad([&](auto const& q) { return mtf::sum(mtf::square(mtf::slice<n, part>(q.x, at))); })(p)
              .gradients;
      CHECK(mtf::to_global(g.x.complete()) == of_x);
    }
    auto const g =
        mtf::value_and_grad([&](auto const& q) { return mtf::sum(mtf::update<n, part>(q.x, q.y, at)); })(p).gradients;
    CHECK(mtf::to_global(g.x.complete()) == cleared);
    CHECK(mtf::to_global(g.y.complete()) == of_y);
  }
  numbers values, gradient(32);
  std::vector<std::int32_t> places;
  for (std::size_t r = 0; r < 4; ++r) {
    auto const order = descending(r);
    for (std::size_t j = 0; j < 3; ++j) {
      values.push_back(x_at[r * 8 + order[j]]);
      places.push_back(static_cast<std::int32_t>(order[j]));
      gradient[r * 8 + order[j]] = 2 * values.back() + 1;
    }
  }
  auto const [found, found_at] = mtf::top_k<n, largest>(p.x);
  CHECK(mtf::to_global(found) == values);
  CHECK(mtf::to_global(found_at) == places);
  auto const loss = [](auto const& q) {
    auto const [v, ids] = mtf::top_k<n, largest>(q.x);
    return mtf::sum(mtf::square(v)) + mtf::sum(v) + mtf::sum(mtf::cast<double>(ids));
  };
  CHECK(mtf::to_global(mtf::value_and_grad(loss)(p).gradients.x.complete()) == gradient);
  auto const all = std::get<1>(mtf::top_k<n, most>(p.x));  // more than a rank has: a sort
  auto const sorted = mtf::to_global(all);
  for (std::size_t r = 0; r < 4; ++r) {
    auto const order = descending(r);
    for (std::size_t j = 0; j < 8; ++j) CHECK(static_cast<std::size_t>(sorted[r * 8 + j]) == order[j]);
  }
}

template <mtf::fixed_string Rules>
void check() {
  tests::on_ranks_under<Rules, m, n, part, largest>(
      [&]<class Layout>(thread_backend& b, Layout const*) { check_on<Layout>(b); });
}

TEST_CASE("slice, update and top_k do not see the layout") {
  mtf::single_rank alone;
  thread_backend b(alone);
  check_on<mtf::layout<mtf::mesh<>>>(b);
  check<"">();
  check<"m:p">();
  check<"n:q">();
  check<"m:p;n:q">();
  check<"n:p+q">();
  check<"part:p;n:q">();
  check<"part:p+q">();
}

TEST_CASE("an operand that nobody else holds is written in place, another is copied") {
  mtf::single_rank alone;
  tests::counted_backend b(alone);
  using place = mtf::place<double, mtf::layout<mtf::mesh<>>, tests::counted_backend>;
  using cache = place::tensor<m, n>;
  auto x = mtf::from_global<cache>(b, x_at);
  auto const y = mtf::from_global<place::tensor<m, part>>(b, y_at);
  auto const at = mtf::full<mtf::place<std::int32_t, mtf::layout<mtf::mesh<>>, tests::counted_backend>::tensor<>>(b, 2);
  constexpr std::size_t size = 32 * sizeof(double);
  auto const more = [&](auto const& f) {
    auto const before = b.live();
    b.forget_peak();
    f();
    return b.peak() - before;
  };
  auto const* const memory = x.value().data();
  CHECK(more([&] { x = mtf::update<n, part>(std::move(x), y, at); }) == 0);
  CHECK(x.value().data() == memory);
  CHECK(more([&] { x = mtf::update<n, part>(x, y, at); }) == size);

  auto const before = mtf::to_global(x);
  auto const other = x;  // holds the same memory
  auto const zeros = mtf::zeros<place::tensor<m, part>>(b);
  CHECK(more([&] { x = mtf::update<n, part>(std::move(x), zeros, at); }) == size);
  CHECK(mtf::to_global(other) == before);
  CHECK(mtf::to_global(x) != before);

  // What the backward pass needs is held by it.
  auto const g = mtf::value_and_grad([&](auto const& p) {
                   auto squares = mtf::square(p.x);
                   auto z = mtf::exp(squares);  // kept, as its own gradient
                   auto const kept = z;
                   z = mtf::update<n, part>(std::move(z), zeros, at);
                   return mtf::sum(z) + mtf::sum(kept);
                 })(only<place::tensor>{mtf::from_global<cache>(b, numbers(32, 0.5))})
                     .gradients;
  auto const gradient = mtf::to_global(g.x.complete());
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t j = 0; j < 8; ++j)
      CHECK(gradient[r * 8 + j] == doctest::Approx((j >= 2 && j < 6 ? 1 : 2) * std::exp(0.25)));
  // A tensor that was given away has no value.
  auto const given = mtf::update<n, part>(std::move(x), y, at);
  CHECK(x.empty());
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
