// What moves along a dimension, under layouts that are types and values: numbers and gradients as loops over the whole
// tensors say, to the bit; what is outside is a user_error.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>
#include <support/error_of.hpp>
#include <support/layouts_agree.hpp>

namespace {

struct m : mtf::dim<"m", 2> {};
struct n : mtf::dim<"n", 16> {};
struct longer : mtf::dim<"longer", 24> {};
struct few : mtf::dim<"few", 8> {};
struct both : mtf::dim<"both", 40> {};
struct pair : mtf::dim<"pair", 2> {};
using numbers = std::vector<double>;

template <template <class...> class Tensor>
struct inputs {
  Tensor<m, n> x;
  Tensor<longer, m> y;
  MTF_FIELDS(x, y);
};
numbers const x_at = [] {
  numbers x(32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.5 * static_cast<double>((i * 7 + 3) % 31) - 5;
  return x;
}();
numbers const y_at = [] {
  numbers y(48);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 0.25 * static_cast<double>(i) + 1;
  return y;
}();
/// Row r of the result has x's position at(i) there; below 0: `outside`. The gradient of its sum of squares.
struct expected {
  numbers result, of_x = numbers(32);
  template <class F>
  expected(std::int64_t extent, F const& at, double outside = 0) {
    for (std::size_t r = 0; r < 2; ++r)
      for (std::int64_t i = 0; i < extent; ++i) {
        std::int64_t const j = at(i);
        bool const there = j >= 0 && j < 16;
        auto const from = r * 16 + static_cast<std::size_t>(there ? j : 0);
        result.push_back(there ? x_at[from] : outside);
        if (there) of_x[from] += 2 * x_at[from];
      }
  }
};

template <class Layout, class Backend>
void check_on(Backend& b) {
  using place = mtf::place<double, Layout, Backend>;
  inputs<place::template tensor> const p{mtf::from_global<typename place::template tensor<m, n>>(b, x_at),
                                         mtf::from_global<typename place::template tensor<longer, m>>(b, y_at)};
  auto const check = [&](auto const& f, expected const& e) {
    CHECK(mtf::to_global(f(p.x)) == e.result);
    auto const g = mtf::value_and_grad([&](auto const& q) { return mtf::sum(mtf::square(f(q.x))); })(p).gradients;
    CHECK(mtf::to_global(g.x.complete()) == e.of_x);
  };
  for (std::int64_t const by : {0, 1, -1, 3, 4, -7, 8, 15, 16, 21, -40}) {
    CAPTURE(by);
    check([&](auto const& x) { return mtf::roll<n>(x, by); },
          {16, [&](std::int64_t i) { return ((i - by) % 16 + 16) % 16; }});
    check([&](auto const& x) { return mtf::shift<n>(x, by); }, {16, [&](std::int64_t i) { return i - by; }});
  }
  check([](auto const& x) { return mtf::reverse<n>(x); }, {16, [](std::int64_t i) { return 15 - i; }});
  for (std::int64_t const before : {0, 3, 8}) {
    check([&](auto const& x) { return mtf::pad<n, longer>(x, before); },
          {24, [&](std::int64_t i) { return i - before; }});
    check([&](auto const& x) { return mtf::pad<n, longer>(x, before, -1.5); },
          {24, [&](std::int64_t i) { return i - before; }, -1.5});
  }
  check([](auto const& x) { return mtf::slice<n, few>(x, 1, 2); }, {8, [](std::int64_t i) { return 1 + 2 * i; }});
  check([](auto const& x) { return mtf::slice<n, few>(x, 14, -2); }, {8, [](std::int64_t i) { return 14 - 2 * i; }});
  check([](auto const& x) { return mtf::slice<n, few>(x, 5, 1); }, {8, [](std::int64_t i) { return 5 + i; }});

  numbers all;
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t i = 0; i < 16; ++i) all.push_back(x_at[r * 16 + i]);
    for (std::size_t i = 0; i < 24; ++i) all.push_back(y_at[i * 2 + r]);
  }
  CHECK(mtf::to_global(mtf::concat<both, n, longer>(p.x, p.y)) == all);
  auto const g = mtf::value_and_grad(
                     [&](auto const& q) { return mtf::sum(mtf::square(mtf::concat<both, n, longer>(q.x, q.y))); })(p)
                     .gradients;
  CHECK(mtf::to_global(g.x.complete()) == (expected{16, [](std::int64_t i) { return i; }}.of_x));
  numbers twice = y_at;
  for (double& v : twice) v *= 2;
  CHECK(mtf::to_global(g.y.complete()) == twice);

  numbers stack = x_at, row(x_at.begin() + 16, x_at.end()), of_stack(32), of_row(32);
  for (std::size_t i = 0; i < 32; ++i) {
    stack.push_back(2 * x_at[i]);
    of_stack[i] = 10 * x_at[i];
    if (i >= 16) of_row[i] = 2 * x_at[i];
  }
  CHECK(mtf::to_global(mtf::stacked<pair>(p.x, mtf::transpose<n, m>(p.x + p.x))) == stack);
  CHECK(mtf::to_global(std::get<1>(mtf::unstacked<m>(p.x))) == row);
  auto const of = [&](auto const& loss) { return mtf::to_global(mtf::value_and_grad(loss)(p).gradients.x.complete()); };
  CHECK(of([](auto const& q) { return mtf::sum(mtf::square(mtf::stacked<pair>(q.x, q.x + q.x))); }) == of_stack);
  CHECK(of([](auto const& q) { return mtf::sum(mtf::square(std::get<1>(mtf::unstacked<m>(q.x)))); }) == of_row);
  CHECK(of([](auto const& q) {
          auto const [first, second] = mtf::unstacked<m>(q.x);
          return mtf::sum(mtf::square(mtf::stacked<pair>(second, first)));
        }) == (expected{16, [](std::int64_t i) { return i; }}.of_x));

  CHECK(error_of([&] { return mtf::pad<n, longer>(p.x, 9); }) ==
        "a part, n 16, that begins at 9 is not within longer 24: it can begin at 0 to 8");
  CHECK(error_of([&] { return mtf::slice<n, few>(p.x, 2, 2); }) ==
        "a part, few 8, from 2 on in steps of 2 is not within n 16");
  CHECK(error_of([&] { return mtf::slice<n, few>(p.x, 2, 0); }) != "");
  CHECK(error_of([&] { return mtf::slice<n, few>(p.x, 13, -2); }) != "");
  CHECK(error_of([&] { return mtf::slice<n, few>(p.x, 16, -1); }) != "");
}

template <mtf::fixed_string Rules>
void check() {
  tests::on_ranks_under<Rules, m, n, longer, few, both, pair>(
      [&]<class Layout>(thread_backend& b, Layout const*) { check_on<Layout>(b); });
}

TEST_CASE("movements do not see the layout") {
  mtf::single_rank alone;
  thread_backend b(alone);
  check_on<mtf::layout<mtf::mesh<>>>(b);
  check<"">();
  check<"n:p">();
  check<"n:p+q;longer:p+q;few:p+q;both:p+q">();
  check<"n:q;longer:p;few:p+q;both:q+p">();
  check<"m:p;n:q;longer:q;both:q">();
  check<"n:q+p;both:p;few:q">();
  check<"m:p;n:q">();
  check<"pair:p">();
  check<"n:q;pair:p">();
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
