// Conjugate gradients (Hestenes & Stiefel 1952): the matrix is sharded, the program does not say how.
#include "on_ranks.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

struct row : mtf::dim<"row", 64> {};
struct col : mtf::dim<"col", 64> {};  // row under a second name

// The x of a x = b, for a symmetric positive definite a [row, col] and b [row].
template <class A, class B>
B solve(A const& a, B const& b, double tolerance) {
  auto const dot = [](B const& x, B const& y) { return mtf::item(mtf::sum(x * y)); };  // the same on all ranks
  B x = b * 0.0, r = b, p = b;
  for (double rr = dot(r, r); std::sqrt(rr) > tolerance;) {
    B const ap = mtf::complete(mtf::einsum<row>(a, mtf::rename<row, col>(p)));
    double const alpha = rr / dot(p, ap);
    x = x + alpha * p;
    r = r - alpha * ap;
    double const before = std::exchange(rr, dot(r, r));
    p = r + rr / before * p;
  }
  return x;
}

struct rows : mtf::axis<"rows", 2> {};
struct cols : mtf::axis<"cols", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_rows = mtf::layout<mtf::mesh<rows>, mtf::split<row, rows>>;
using by_blocks = mtf::layout<mtf::mesh<rows, cols>, mtf::split<row, rows>, mtf::split<col, cols>>;

// Minus the second difference: 2 on the diagonal, -1 beside it.
struct second_difference {
  MTF_FUNCTION double operator()(int i, int j) const { return i == j ? 2 : i - j == 1 || j - i == 1 ? -1 : 0; }
};

template <class Layout>
void solves() {
  recipes::on_ranks<Layout>([](recipes::backend& machine) {
    using real = mtf::place<double, Layout, recipes::backend>;
    using positions = typename mtf::place<std::int32_t, Layout, recipes::backend>::template tensor<row, col>;
    auto const a =
        mtf::map(second_difference{}, mtf::iota<row, positions>(machine), mtf::iota<col, positions>(machine));
    auto const x = solve(a, mtf::ones<typename real::template tensor<row>>(machine), 1e-9);
    // The parabola whose second difference is -1 and which is 0 beside both ends.
    std::vector<double> want;
    for (int i = 0; i < row::extent; ++i) want.push_back((i + 1.0) * (row::extent - i) / 2);
    recipes::check_close(mtf::to_global(x), want, 1e-9);
  });
}

TEST_CASE("conjugate gradients find the closed form, under every layout") {
  solves<one_rank>();
  solves<by_rows>();
  solves<by_blocks>();
}

template <class Layout>
constexpr auto product_plan = mtf::plan_of<Layout>(
    [](auto const& a, auto const& p) { return mtf::complete(mtf::einsum<row>(a, mtf::rename<row, col>(p))); },
    mtf::input<double, row, col>{}, mtf::input<double, row>{});
static_assert(product_plan<by_rows>.count() == 1);
static_assert(product_plan<by_rows>.count(mtf::collective_kind::all_gather) == 1);  // p
static_assert(product_plan<by_blocks>.count() == 2);  // p, a permute between rows and columns; and the sum
static_assert(product_plan<by_blocks>.count(mtf::collective_kind::all_reduce) == 1);

}  // namespace
