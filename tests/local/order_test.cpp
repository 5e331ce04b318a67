// Running sums, products and maxima, sorts and gathers against NumPy's and PyTorch's (tests/reference/make_order.py).
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/cumulative.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/sorting.hpp>

#include "reference/reference.hpp"

namespace {

struct row : mtf::dim<"row", 6> {};
struct n : mtf::dim<"n", 16> {};
struct width : mtf::dim<"width", 3> {};
struct taken : mtf::dim<"taken", 5> {};
struct segment : mtf::dim<"segment", 4> {};
using backend = mtf::kokkos_backend<>;
template <class T, class... D>
using on_one = typename mtf::place<T, mtf::layout<mtf::mesh<>>, backend>::template tensor<D...>;
using mtf::cumulative;

struct fixture {
  mtf::reference::file all{std::string(MTF_TEST_DIR) + "/reference/order.bin"};
  mtf::single_rank alone;
  backend machine{alone};

  template <class X>
  X tensor(std::string_view name) {
    auto const& values = all[name].values;
    return mtf::from_global<X>(machine, std::vector<typename X::element_type>(values.begin(), values.end()));
  }
  /// How many elements of x are not as the file says; zeros and NaN of both signs are equal.
  int differ(auto const& x, std::string_view name, double tolerance = 0) {
    auto const found = mtf::to_global(x);
    auto const& want = all[name].values;
    REQUIRE(found.size() == want.size());
    int wrong = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      auto const v = static_cast<double>(found[i]);
      bool const same = std::isnan(want[i]) ? std::isnan(v) : v == want[i] || std::abs(v - want[i]) <= tolerance;
      wrong += same ? 0 : 1;
    }
    return wrong;
  }
};

template <template <class...> class Tensor>
struct one {
  Tensor<row, n> x;
  MTF_FIELDS(x);
};
template <class... D>
using of_doubles = on_one<double, D...>;
using X = on_one<double, row, n>;
using numbers = on_one<std::int32_t, row, taken>;

}  // namespace

TEST_CASE_FIXTURE(fixture, "of special values") {
  auto const x = tensor<X>("x");
  CHECK(differ(mtf::cumulative_sum<n>(x), "x.sum") == 0);
  CHECK(differ(mtf::cumulative_sum<n>(x, cumulative::reverse), "x.sum_from") == 0);
  CHECK(differ(mtf::cumulative_prod<n>(x), "x.product") == 0);
  CHECK(differ(mtf::cumulative_max<n>(x), "x.max") == 0);
  CHECK(differ(mtf::sort<n>(x), "x.sort") == 0);
  CHECK(differ(mtf::argsort<n>(x), "x.argsort") == 0);
  CHECK(differ(mtf::argmin<n>(x), "x.argmin") == 0);
}

TEST_CASE_FIXTURE(fixture, "values and gradients") {
  auto const x = tensor<X>("plain"), w = tensor<X>("w");
  auto const gradient = [&](auto const& f) {
    auto const loss = [&](auto const& p) { return mtf::sum(f(p.x) * w); };
    return mtf::value_and_grad(loss)(one<of_doubles>{x}).gradients.x.complete();
  };
  CHECK(differ(mtf::cumulative_sum<n>(x), "plain.sum", 1e-13) == 0);
  CHECK(differ(mtf::cumulative_prod<n>(x), "plain.product", 1e-13) == 0);
  CHECK(differ(gradient([](auto const& p) { return mtf::cumulative_sum<n>(p); }), "grad.sum", 1e-13) == 0);
  CHECK(differ(gradient([](auto const& p) { return mtf::cumulative_prod<n>(p); }), "grad.product", 1e-12) == 0);
  CHECK(differ(gradient([](auto const& p) { return mtf::cumulative_prod<n>(p, cumulative::reverse); }),
               "grad.product_from", 1e-12) == 0);
  CHECK(differ(gradient([](auto const& p) { return mtf::cumulative_max<n>(p); }), "grad.max", 1e-13) == 0);
  CHECK(differ(gradient([](auto const& p) { return mtf::sort<n>(p); }), "grad.sort") == 0);
}

TEST_CASE_FIXTURE(fixture, "elements by number") {
  auto const ids = tensor<numbers>("ids");
  auto const tables = tensor<on_one<double, row, n, width>>("tables");
  auto const rows = tensor<on_one<double, row, taken, width>>("rows");
  CHECK(differ(mtf::gather<n>(tables, ids), "tables.taken") == 0);
  CHECK(differ(mtf::scatter_add<n, taken>(ids, rows), "rows.added", 1e-14) == 0);
  auto const segments = tensor<on_one<std::int32_t, n>>("segments");
  auto const sums = mtf::segment_sum<n, segment>(tensor<X>("plain"), segments);
  CHECK(differ(mtf::transpose<row, segment>(sums), "segments.sums", 1e-14) == 0);
  CHECK(differ(mtf::one_hot<segment>(segments), "segments.hot") == 0);
  // In the order of others.
  struct place : mtf::dim<"place", 16> {};
  auto const x = tensor<X>("x");
  CHECK(differ(mtf::gather<n>(x, mtf::rename<n, place>(mtf::argsort<n>(x))), "x.sort") == 0);
}

TEST_CASE_FIXTURE(fixture, "numbers that are no positions") {
  auto const ids = mtf::from_global<on_one<std::int32_t, segment>>(machine, std::vector<std::int32_t>{-1, 16, 15, 0});
  auto const x = mtf::iota<n, on_one<float, n>>(machine) + 1;
  auto const found = mtf::to_global(mtf::gather<n>(x, ids));
  CHECK(found[0] == 0);
  CHECK(std::isnan(found[1]));
  CHECK(found[2] == 16);
  auto const hot = mtf::to_global(mtf::one_hot<n>(ids));
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(hot[i] == 0);
    CHECK(std::isnan(hot[16 + i]));
    CHECK(hot[32 + i] == (i == 15 ? 1 : 0));
  }
  auto const added = mtf::to_global(mtf::scatter_add<n>(ids, mtf::ones<on_one<float, segment>>(machine)));
  for (std::size_t i = 0; i < 16; ++i) CHECK(added[i] == (i == 0 || i == 15 ? 1 : 0));
}

TEST_CASE_FIXTURE(fixture, "choices by chance have the probabilities of a softmax") {
  struct draw : mtf::dim<"draw", 20000> {};
  std::vector<float> const logits{0, 1, 2, -HUGE_VALF};
  for (double const temperature : {0.0, 0.5, 1.0}) {
    auto const x = mtf::broadcast<draw, segment>(mtf::from_global<on_one<float, segment>>(machine, logits));
    auto const chosen = mtf::to_global(mtf::categorical<segment>(x, mtf::random_key(5), temperature));
    std::vector<double> times(4);
    for (auto const c : chosen) times[static_cast<std::size_t>(c)] += 1.0 / 20000;
    double total = 0;
    for (float const v : logits) total += temperature > 0 ? std::exp(v / temperature) : 0;
    for (std::size_t i = 0; i < 4; ++i) {
      double const want = temperature > 0 ? std::exp(logits[i] / temperature) / total : i == 2 ? 1 : 0;
      CHECK(std::abs(times[i] - want) <= 1e-9 + 4 * std::sqrt(want * (1 - want) / 20000));
    }
  }
}
