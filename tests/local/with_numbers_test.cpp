// A number in place of a tensor, and what has fewer operands or more dimensions than usual: the same as what is written
// in full.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

namespace own {

struct m : mtf::dim<"m", 4> {};
struct n : mtf::dim<"n", 3> {};

// Names that mtf refuses are free for the user's own functions, which are called though mtf's are found too.
template <class... X>
int concat(X const&...) {
  return 1;
}
template <class X>
int slice(X const&, std::size_t) {
  return 2;
}
int scaled_dot_product_attention(auto const&, auto const&, auto const&, double) { return 3; }

}  // namespace own

namespace {

using own::m, own::n;
using backend = mtf::kokkos_backend<>;
using here = mtf::place<double, mtf::layout<mtf::mesh<>>, backend>;
using one_place = mtf::place<float, mtf::any_layout<>, backend>;

constexpr double infinite = std::numeric_limits<double>::infinity();
std::vector<double> const values{-2, -1, 0, 1, 2, 3, -0.5, 0.5, 0, 4, -4, 0.25};

template <template <class...> class Tensor>
struct inputs {
  Tensor<m, n> x;
  Tensor<n> gamma;
  MTF_FIELDS(x, gamma);
};

template <class... Dims>
auto tensor_of(backend& b, std::vector<double> const& elements) {
  return mtf::from_global<here::tensor<Dims...>>(b, elements);
}
inputs<here::tensor> inputs_of(backend& b) { return {tensor_of<m, n>(b, values), tensor_of<n>(b, {0.5, 2, -1})}; }

/// The gradient in x of sum(weights f(x)), where the weights are no constants.
template <class F>
std::vector<double> gradient_of(backend& b, F const& f) {
  auto const loss = [&](auto const& p) {
    auto const y = f(p.x);
    return mtf::sum(y * mtf::stop_gradient(mtf::square(y) + 0.75));
  };
  return mtf::value_and_grad(loss)(inputs_of(b)).gradients.x.complete().local();
}
void check_close(std::vector<double> const& found, std::vector<double> const& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
}
/// Two ways to write one thing.
template <class F, class G>
void check_same(backend& b, F const& f, G const& g) {
  auto const x = inputs_of(b).x;
  check_close(mtf::to_global(f(x)), mtf::to_global(g(x)));
  check_close(gradient_of(b, f), gradient_of(b, g));
}

TEST_CASE("a number stands for a tensor of that number in max, min and where") {
  mtf::single_rank alone;
  backend b(alone);
  auto const zero = mtf::zeros<here::tensor<m, n>>(b);
  auto const two = zero + 2;
  auto const max_of_two = [&](auto const& x) { return mtf::max(x, zero); };
  check_same(b, [](auto const& x) { return mtf::max(x, 0.0F); }, max_of_two);
  check_same(b, [](auto const& x) { return mtf::max(0, x); }, max_of_two);
  auto const min_of_two = [&](auto const& x) { return mtf::min(x, two); };
  check_same(b, [](auto const& x) { return mtf::min(x, 2.0); }, min_of_two);
  check_same(b, [](auto const& x) { return mtf::min(2, x); }, min_of_two);
  check_same(
      b, [](auto const& x) { return mtf::where(x > 0, x, 2.0F); },
      [&](auto const& x) { return mtf::where(x > 0, x, two); });
  check_same(
      b, [](auto const& x) { return mtf::where(x > 0, 2, x); },
      [&](auto const& x) { return mtf::where(x > 0, two, x); });
  CHECK(mtf::to_global(mtf::where(zero > 0, 1.0F, 3.0F)) == std::vector<float>(12, 3.0F));
}

TEST_CASE("what where did not choose gets no gradient, whatever the number is") {
  mtf::single_rank alone;
  backend b(alone);
  auto const hidden = [](auto const& x) { return mtf::exp(mtf::where(x > 0, x, -infinite)); };
  auto const g = mtf::value_and_grad([&](auto const& p) { return mtf::sum(hidden(p.x)); })(inputs_of(b))
                     .gradients.x.complete()
                     .local();
  for (std::size_t i = 0; i < g.size(); ++i) CHECK(g[i] == (values[i] > 0 ? doctest::Approx(std::exp(values[i])) : 0));
}

TEST_CASE("beside integers the number is an integer that fits") {
  mtf::single_rank alone;
  backend b(alone);
  auto const x = mtf::cast<std::int32_t>(tensor_of<n>(b, {-1, 0, 5}));
  CHECK(mtf::to_global(mtf::max(x, 1)) == std::vector<std::int32_t>{1, 1, 5});
  CHECK(mtf::to_global(mtf::where(x == 0, 7, x)) == std::vector<std::int32_t>{-1, 7, 5});
  CHECK_THROWS_AS(mtf::max(x, std::int64_t{1} << 40), mtf::user_error);
}

TEST_CASE("comparisons have the number on either side, and are negated") {
  mtf::single_rank alone;
  backend b(alone);
  auto const x = tensor_of<n>(b, {-1, 0, 1});
  auto const ones_of = [](auto const& c) { return mtf::to_global(mtf::cast<std::int32_t>(c)); };
  using whole = std::vector<std::int32_t>;
  CHECK(ones_of(0 < x) == whole{0, 0, 1});
  CHECK(ones_of(0 > x) == whole{1, 0, 0});
  CHECK(ones_of(0 <= x) == whole{0, 1, 1});
  CHECK(ones_of(0 >= x) == whole{1, 1, 0});
  CHECK(ones_of(0 == x) == whole{0, 1, 0});
  CHECK(ones_of(0 != x) == whole{1, 0, 1});
  CHECK(ones_of(!(x > 0)) == whole{1, 1, 0});
  CHECK(ones_of(!x) == whole{0, 1, 0});
}

TEST_CASE("softmax along several dimensions is that along one which holds them all") {
  mtf::single_rank alone;
  backend b(alone);
  auto const x = tensor_of<m, n>(b, values);
  double total = 0, most = -infinite;
  for (double const v : values) most = std::max(most, v);
  for (double const v : values) total += std::exp(2 * (v - most));
  std::vector<double> expected;
  for (double const v : values) expected.push_back(std::exp(2 * (v - most)) / total);
  check_close(mtf::to_global(mtf::softmax<m, n>(x, 2)), expected);
  // Along each in turn, by the chain rule of probabilities; a large number more changes nothing.
  check_same(
      b, [](auto const& y) { return mtf::softmax<m, n>(y + 1e3); },
      [](auto const& y) { return mtf::softmax<m>(y) * mtf::softmax<n>(mtf::logsumexp<m>(y)); });
  check_same(
      b, [](auto const& y) { return mtf::log_softmax<n, m>(y); },
      [](auto const& y) { return mtf::log_softmax<m>(y) + mtf::log_softmax<n>(mtf::logsumexp<m>(y)); });
  check_same(
      b, [](auto const& y) { return mtf::logsumexp<m, n>(y); },
      [](auto const& y) { return mtf::logsumexp<n>(mtf::logsumexp<m>(y)); });
  auto const narrow = mtf::cast<mtf::bfloat16>(x);
  CHECK(mtf::item(mtf::sum(mtf::softmax<m, n>(narrow))) == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("norms without learned parameters have gamma 1 and beta 0") {
  mtf::single_rank alone;
  backend b(alone);
  auto const one = mtf::ones<here::tensor<n>>(b), zero = mtf::zeros<here::tensor<n>>(b);
  auto const gamma = inputs_of(b).gamma;
  check_same(
      b, [](auto const& x) { return mtf::layer_norm<n>(x); },
      [&](auto const& x) { return mtf::layer_norm<n>(x, one, zero); });
  check_same(
      b, [&](auto const& x) { return mtf::layer_norm<n>(x, gamma, 0.5); },
      [&](auto const& x) { return mtf::layer_norm<n>(x, gamma, zero, 0.5); });
  check_same(
      b, [](auto const& x) { return mtf::rms_norm<n>(x, 0.5); },
      [&](auto const& x) { return mtf::rms_norm<n>(x, one, 0.5); });
}

TEST_CASE("so too under a layout that is a value") {
  mtf::single_rank alone(mtf::mesh_of<"one:1">::shape());
  backend b(alone);
  b.layouts().add(mtf::layout_from<m, n>(mtf::mesh_from("one:1"), "n:one"));
  auto const x = mtf::full<one_place::tensor<m, n>>(b, 0.5F);
  CHECK(mtf::to_global(mtf::layer_norm<n>(x)) == std::vector<float>(12, 0.0F));
  CHECK(mtf::to_global(mtf::softmax<m, n>(x)) == std::vector<float>(12, 1.0F / 12));
  CHECK(mtf::to_global(mtf::max(x, 1.0F)) == std::vector<float>(12, 1.0F));
}

TEST_CASE("a gradient is scaled from either side") {
  mtf::single_rank alone;
  backend b(alone);
  auto const g = mtf::value_and_grad([](auto const& p) { return mtf::sum(p.x * p.x); })(inputs_of(b)).gradients.x;
  auto const expected = mtf::to_global(inputs_of(b).x * 6);
  check_close((g * 3).complete().local(), expected);
  check_close((3.0F * g).complete().local(), expected);
}

TEST_CASE("functions of the user's own come before the names that mtf refuses") {
  mtf::single_rank alone;
  backend b(alone);
  auto const x = inputs_of(b).x;
  auto const called = [&] {
    using namespace own;
    return concat(x, x) + slice(x, 5) + scaled_dot_product_attention(x, x, x, 1.0F);
  };
  CHECK(called() == 6);
}

}  // namespace
