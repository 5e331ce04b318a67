// The largest elements of rows.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "define.hpp"

#include <mtf/ops/sorting.hpp>

namespace sweep {

namespace {

SWEEP_OF_ONE(top_a, (real<a, c>), std::get<0>(mtf::top_k<a, d>(x)))
SWEEP_OF_ONE(top_c, (real<d, b>), std::get<0>(mtf::top_k<b, c>(x)))
SWEEP_OF_ONE(top_places, (real<a, b, d>), std::get<1>(mtf::top_k<b, c>(x)))

documentation const tops{
    .names = {"top_k"},
    .call = "top_k<dim, k>(x)",
    .meaning =
        "The largest elements along dim, as many as k is long, in descending order, and their positions (int32): two "
        "tensors. Of equal elements the first; NaN before all. k is not split.",
    .forward = "two all-gathers: each rank's largest elements, and their positions",
    .backward = "nothing. A gradient that arrives partial over dim's axes is reduced: one all-reduce of the result",
    .partial = "reduced"};

/// Does x come before y?
bool before(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && !std::isnan(y);
  return x > y || (x == y && std::signbit(y) && !std::signbit(x));
}
/// Rows of n that lie `inner` apart, of which the first `count` positions in that order are visited: f(in x, in the
/// result, position).
template <class F>
void each_largest(numbers const& x, std::size_t n, std::size_t inner, std::size_t count, F f) {
  for (std::size_t r = 0; r < x.size() / n; ++r) {
    std::size_t const o = r / inner, i = r % inner;
    std::vector<std::size_t> at(n);
    std::iota(at.begin(), at.end(), std::size_t{0});
    auto const in_x = [&](std::size_t j) { return (o * n + j) * inner + i; };
    std::sort(at.begin(), at.end(), [&](auto j, auto k) {
      double const a = x[in_x(j)], b = x[in_x(k)];
      return before(a, b) || (!before(b, a) && j < k);
    });
    for (std::size_t c = 0; c < std::min(count, n); ++c) f(in_x(at[c]), (o * count + c) * inner + i, at[c]);
  }
}
definition largest_of(std::size_t n, std::size_t inner, std::size_t count) {
  return [=](std::vector<numbers> const& x) {
    numbers y(x[0].size() / n * count);
    each_largest(x[0], n, inner, count, [&](std::size_t from, std::size_t to, std::size_t) { y[to] = x[0][from]; });
    return y;
  };
}
auto gradient_of_largest(std::size_t n, std::size_t inner, std::size_t count) {
  return [=](std::vector<numbers> const& x, numbers const& weights, std::size_t) {
    numbers g(x[0].size());
    each_largest(x[0], n, inner, count, [&](std::size_t from, std::size_t to, std::size_t) { g[from] = weights[to]; });
    return g;
  };
}

}  // namespace

std::vector<operation> sorting_operations() {
  std::vector<operation> ops{
      entry<top_a>("top_k<a, d>(x[a, c])", tops, largest_of(A, C, D), forms::largest(0, static_cast<int>(D), {3, 2}))
          .drawn(-3, 3)
          .with_gradient(gradient_of_largest(A, C, D)),
      entry<top_c>("top_k<b, c>(x[d, b]), with ties", tops, largest_of(B, 1, C),
                   forms::largest(1, static_cast<int>(C), {3, 2}))
          .drawn(-3, 3)
          .integers()
          .with_gradient(gradient_of_largest(B, 1, C)),
      entry<top_places>(
          "positions of top_k<b, c>(x[a, b, d])", tops,
          [](std::vector<numbers> const& x) {
            numbers y(A * C * D);
            each_largest(x[0], B, D, C,
                         [&](std::size_t, std::size_t to, std::size_t place) { y[to] = static_cast<double>(place); });
            return y;
          },
          forms::largest(1, static_cast<int>(C), {0, 2, 3}))
          .drawn(-3, 3)
          .integers()
          .without_gradient(),
  };
  return ops;
}

}  // namespace sweep
