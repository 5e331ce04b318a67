// A classifier's loss in chunks of rows: what the two operations give that it means, also where it takes many chunks
// and where a table is used twice, and the memory that it is for.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/nn/linear_cross_entropy.hpp>

namespace {

using backend = mtf::kokkos_backend<>;
struct rows : mtf::dim<"rows", 484> {};  // three chunks of 128, and what is left
struct classes : mtf::dim<"classes", 301> {};
struct features : mtf::dim<"features", 24> {};

template <class T>
using place = mtf::place<T, mtf::layout<mtf::mesh<>>, backend>;

template <template <class...> class Tensor>
struct classifier {
  Tensor<rows, features> h;
  Tensor<classes, features> table;
  MTF_FIELDS(h, table);
};

template <class X>
std::vector<double> numbers(X const& x) {
  return mtf::cast<double>(x).local();
}
template <class X, class Y>
void check_close(X const& x, Y const& y, double tolerance) {
  auto const a = numbers(x), b = numbers(y);
  REQUIRE(a.size() == b.size());
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  CHECK(difference <= tolerance * largest);
}

template <class T>
struct example {
  mtf::single_rank alone;
  backend machine{alone};
  classifier<place<T>::template tensor> p{
      mtf::random_normal<typename place<T>::template tensor<rows, features>>(machine, mtf::random_key(1)),
      mtf::random_normal<typename place<T>::template tensor<classes, features>>(machine, mtf::random_key(2))};
  typename place<std::int32_t>::template tensor<rows> labels = [this] {
    std::vector<std::int32_t> v;
    for (int i = 0; i < rows::extent; ++i) v.push_back(i % 5 == 4 ? -1 : i * 7 % static_cast<int>(classes::extent));
    return mtf::from_global<typename place<std::int32_t>::template tensor<rows>>(machine, v);
  }();
};

}  // namespace

TEST_CASE_TEMPLATE("in chunks a loss and its gradients are those of logits made at once", T, float, double,
                   mtf::bfloat16) {
  example<T> e;
  double const tolerance = std::is_same_v<T, double> ? 1e-13 : std::is_same_v<T, float> ? 1e-5 : 2e-2;
  for (mtf::cross_entropy_options const& options :
       {mtf::cross_entropy_options{}, {.label_smoothing = 0.2, .z_loss = 0.01}}) {
    auto const in_chunks = mtf::value_and_grad([&](auto const& p) {
      auto const losses = mtf::linear_cross_entropy<classes>(p.h, p.table, e.labels, options);
      return mtf::mean(losses) + mtf::mean(mtf::cast<mtf::compute_t<T>>(p.table * p.table));
    })(std::as_const(e.p));
    auto const at_once = mtf::value_and_grad([&](auto const& p) {
      auto const logits = mtf::einsum<rows, classes>(p.h, p.table);
      auto const losses = mtf::cross_entropy<classes>(logits, e.labels, options);
      return mtf::mean(losses) + mtf::mean(mtf::cast<mtf::compute_t<T>>(p.table * p.table));
    })(std::as_const(e.p));
    check_close(in_chunks.value, at_once.value, tolerance);
    check_close(in_chunks.gradients.h.complete(), at_once.gradients.h.complete(), tolerance);
    check_close(in_chunks.gradients.table.complete(), at_once.gradients.table.complete(), tolerance);
  }
}

TEST_CASE("a gradient of the features alone, and of the table alone") {
  example<double> e;
  auto const both = mtf::value_and_grad([&](auto const& p) {
    return mtf::mean(mtf::linear_cross_entropy<classes>(p.h, p.table, e.labels));
  })(std::as_const(e.p));
  auto const of_h = mtf::value_and_grad([&](auto const& p) {
    return mtf::mean(mtf::linear_cross_entropy<classes>(p.h, mtf::stop_gradient(p.table), e.labels));
  })(std::as_const(e.p));
  auto const of_table = mtf::value_and_grad([&](auto const& p) {
    return mtf::mean(mtf::linear_cross_entropy<classes>(mtf::stop_gradient(p.h), p.table, e.labels));
  })(std::as_const(e.p));
  check_close(of_h.gradients.h.complete(), both.gradients.h.complete(), 0);
  check_close(of_table.gradients.table.complete(), both.gradients.table.complete(), 0);
  for (double const x : numbers(of_h.gradients.table.complete())) CHECK(x == 0);
  for (double const x : numbers(of_table.gradients.h.complete())) CHECK(x == 0);
}

TEST_CASE_TEMPLATE("what memory held before is read nowhere", T, float, double, mtf::bfloat16) {
  example<T> e;
  auto const made = [&] {
    return mtf::value_and_grad([&](auto const& p) {
      return mtf::mean(mtf::linear_cross_entropy<classes>(p.h, p.table, e.labels));
    })(std::as_const(e.p));
  };
  auto const expected = made();
  // Blocks of all sizes that a chunk may have, given back full of NaN: bytes of ones.
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t bytes = 64; bytes <= (std::size_t{1} << 22U); bytes += std::max<std::size_t>(64, bytes / 8)) {
    std::vector<char> const ones(bytes, static_cast<char>(0xff));
    for (int i = 0; i < 4; ++i) {
      blocks.emplace_back(e.machine.allocate(bytes), bytes);
      e.machine.from_host(blocks.back().first, ones.data(), bytes);
    }
  }
  for (auto const& [at, bytes] : blocks) e.machine.release(at, bytes);
  auto const again = made();
  CHECK(numbers(again.value) == numbers(expected.value));
  CHECK(numbers(again.gradients.h.complete()) == numbers(expected.gradients.h.complete()));
  CHECK(numbers(again.gradients.table.complete()) == numbers(expected.gradients.table.complete()));
}

TEST_CASE("the logits of all rows are never there") {
  example<float> e;
  auto const peak_of = [&](auto const& loss) {
    e.machine.reset_peak();
    auto const before = e.machine.memory().live;
    auto const made = mtf::value_and_grad(loss)(std::as_const(e.p));
    return e.machine.memory().peak - before;
  };
  auto const in_chunks =
      peak_of([&](auto const& p) { return mtf::mean(mtf::linear_cross_entropy<classes>(p.h, p.table, e.labels)); });
  std::size_t const pitch = (classes::extent + 3) / 4 * 4;  // whole units of 16 bytes
  std::size_t const logits = 128 * pitch * sizeof(float), h = rows::extent * features::extent * sizeof(float),
                    table = classes::extent * features::extent * sizeof(float), a_row = rows::extent * sizeof(float);
  // The gradients, what a product packs (the table at most), statistics, losses, alignment.
  CHECK(in_chunks <= logits + h + 2 * table + 6 * a_row + 64 * 16);
}
