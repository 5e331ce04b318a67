// Arithmetic on structures of tensors under any layout and in plans; tensors like others; what is drawn of a tensor.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/ops/create.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/tensor/map_tensors.hpp>

#include "support/ranks_as_threads.hpp"

namespace {

struct rows : mtf::dim<"rows", 4> {};
struct columns : mtf::dim<"columns", 8> {};
struct layers : mtf::dim<"layers"> {};

template <template <class...> class Tensor>
struct layer {
  Tensor<columns> gamma;
  Tensor<columns, rows> w;
  MTF_FIELDS(gamma, w);
};
template <template <class...> class Tensor>
struct model {
  Tensor<rows, columns> first;
  mtf::stack<layers, layer<Tensor>> blocks;
  Tensor<rows> unused;
  MTF_FIELDS(first, blocks, unused);
};

constexpr auto loss = [](auto const& p) {
  auto x = p.first;
  for (std::size_t i = 0; i < p.blocks.size(); ++i)
    x = x * p.blocks[i].gamma + mtf::transpose<rows, columns>(p.blocks[i].w);
  return mtf::mean(mtf::square(x));
};

constexpr int depth = 3;
constexpr char const* rules[] = {"", "rows:p", "columns:q", "rows:p;columns:q", "columns:p+q"};

template <class Parameters>
Parameters random_parameters(thread_backend& b, std::uint64_t seed) {
  auto p = mtf::sized<Parameters>(b);
  mtf::for_each_tensor(
      [&]<class X>(std::string_view name, X& x) { x = mtf::random_normal<X>(b, mtf::random_key(seed).of(name)); }, p);
  return p;
}
template <class S>
std::vector<double> all_of(S const& s) {
  std::vector<double> all;
  mtf::for_each_tensor(
      [&](std::string_view, auto const& x) {
        for (double const v : mtf::to_global(x)) all.push_back(v);
      },
      s);
  return all;
}

/// f(backend) under each layout, of layers whose number is a value.
template <class F>
void each_way(F const& f) {
  under_each_layout(rules, [&](thread_backend& b) {
    b.layouts().give(mtf::extents_from("layers:3"));
    f(b);
  });
}

TEST_CASE("the difference of two models, and a moving average, tensor by tensor") {
  using place = mtf::place<double, mtf::any_layout<>, thread_backend>;
  using parameters = model<place::tensor>;
  std::vector<double> alone;
  each_way([&](thread_backend& b) {
    auto const p = random_parameters<parameters>(b, 1), q = random_parameters<parameters>(b, 2);
    auto const difference = mtf::map_tensors([](auto const& x, auto const& y) { return x - y; }, p, q);
    static_assert(std::is_same_v<decltype(difference), parameters const>);
    CHECK(difference.blocks.size() == depth);
    auto const of_p = all_of(p), of_q = all_of(q), found = all_of(difference);
    REQUIRE(found.size() == of_p.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == of_p[i] - of_q[i]);
    auto const average = all_of(mtf::map_tensors(
        [](auto const& x, auto const& y, auto const& z) { return 0.5 * x + 0.25 * y + z; }, p, q, difference));
    for (std::size_t i = 0; i < found.size(); ++i)
      CHECK(average[i] == doctest::Approx(1.5 * of_p[i] - 0.75 * of_q[i]).epsilon(1e-14).scale(1));
    // A tensor by itself.
    CHECK(mtf::to_global(mtf::map_tensors([](auto const& x) { return x + x; }, p.unused)) ==
          mtf::to_global(2 * p.unused));
  });
}

TEST_CASE("gradients clipped by value") {
  using place = mtf::place<double, mtf::any_layout<>, thread_backend>;
  using parameters = model<place::tensor>;
  each_way([&](thread_backend& b) {
    auto const p = random_parameters<parameters>(b, 1);
    auto const gradients = mtf::value_and_grad(loss)(p).gradients;
    auto const clipped = mtf::map_tensors(
        [](auto const& g) { return g.is_zero() ? g : mtf::gradient(mtf::clip(g.complete(), -0.05, 0.05)); }, gradients);
    CHECK(clipped.unused.is_zero());
    // Of the tensors that a function returns.
    auto const tensors =
        mtf::map_tensors([](auto const& g) { return mtf::clip(g.complete(), -0.05, 0.05); }, gradients);
    static_assert(std::is_same_v<decltype(clipped), decltype(gradients)>);
    auto const complete = [](auto const& of) {
      std::vector<double> all;
      mtf::for_each_tensor(
          [&](std::string_view, auto const& g) {
            for (double const v : mtf::to_global(g.complete())) all.push_back(v);
          },
          of);
      return all;
    };
    auto const before = complete(gradients), after = complete(clipped);
    CHECK(complete(tensors) == after);
    bool some = false;
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(after[i] == std::min(std::max(before[i], -0.05), 0.05));
      some = some || after[i] != before[i];
    }
    CHECK(some);
    // Gradients themselves are added too.
    auto const twice =
        complete(mtf::map_tensors([](auto const& x, auto const& y) { return x + y; }, gradients, gradients));
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(twice[i] == doctest::Approx(2 * before[i]));
  });
}

TEST_CASE("in a plan equal layers are one loop, and nothing is sent") {
  auto const planned = [](auto const& f) {
    return mtf::plan_under(f, mtf::layout_from(mtf::mesh_from("p:2;q:2"), "columns:q"), mtf::extents_from("layers:30"),
                           mtf::parameters<model>{});
  };
  auto const plain = planned(loss), halved = planned([](auto const& p) {
                                      return loss(mtf::map_tensors([](auto const& x) { return 0.5 * x; }, p));
                                    });
  CHECK(halved.bytes_sent_per_rank() == plain.bytes_sent_per_rank());
  CHECK(halved.flops() == plain.flops());
}

TEST_CASE("tensors like another one, which are not partial") {
  using place = mtf::place<float, mtf::any_layout<>, thread_backend>;
  each_way([&](thread_backend& b) {
    std::vector<float> numbers(32);
    for (std::size_t i = 0; i < 32; ++i) numbers[i] = static_cast<float>(i) - 7;
    auto const x = place::from_global<rows, columns>(b, numbers);
    CHECK(mtf::to_global(x) == numbers);
    auto const sum = mtf::sum<columns>(x);  // partial where columns are split
    CHECK(mtf::to_global(mtf::ones_like(sum)) == std::vector<float>(4, 1));
    CHECK(mtf::to_global(mtf::zeros_like(mtf::cast<std::int32_t>(x))) == std::vector<std::int32_t>(32, 0));
    auto const at = mtf::to_global(mtf::iota<columns>(x));
    for (std::size_t i = 0; i < 32; ++i) CHECK(at[i] == static_cast<float>(i % 8));
    CHECK_THROWS_AS(mtf::full_like(x > 0, 0.5), mtf::user_error);
  });
}

/// What every rank of 2 x 2 gets.
template <class Make>
std::string drawn(char const* layout, Make const& make) {
  std::string found;
  on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
    b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2;q:2"), layout));
    b.layouts().give(mtf::extents_from("layers:3"));
    auto const text = mtf::show(make(b));
    if (b.ranks().rank() == 0) found = text;
  });
  return "\n" + found;
}

struct wide : mtf::dim<"wide", 40> {};
struct padded : mtf::dim<"padded", 5, mtf::pad_to<4>> {};

TEST_CASE("a tensor is drawn, a box for each shard") {
  using place = mtf::place<float, mtf::any_layout<>, thread_backend>;
  auto const small = [](thread_backend& b) {
    std::vector<float> numbers;
    for (int i = 0; i < 32; ++i) numbers.push_back(static_cast<float>(i) / 2 - 4);
    return place::from_global<rows, columns>(b, numbers);
  };
  CHECK(drawn("rows:p;columns:q", small) == R"(
float [rows/p, columns/q], 4 x 8, on the mesh p:2 q:2
+---------------------+---------------------+
| rank 0              | rank 1              |
|   -4 -3.5   -3 -2.5 |   -2 -1.5   -1 -0.5 |
|    0  0.5    1  1.5 |    2  2.5    3  3.5 |
+---------------------+---------------------+
| rank 2              | rank 3              |
|    4  4.5    5  5.5 |    6  6.5    7  7.5 |
|    8  8.5    9  9.5 |   10 10.5   11 11.5 |
+---------------------+---------------------+
)");
  CHECK(drawn("columns:q", [&](thread_backend& b) { return mtf::sum<columns>(small(b)); }) == R"(
float [rows], 4, on the mesh p:2 q:2, partial over q
+-----------------+
| every rank      |
| -18  14  46  78 |
+-----------------+
)");
  CHECK(drawn("rows:q", [&](thread_backend& b) { return mtf::sum(small(b)) > 0; }) == R"(
bool [], on the mesh p:2 q:2
+------------+
| every rank |
| true       |
+------------+
)");
  CHECK(drawn("wide:p;rows:q", [](thread_backend& b) {
          return mtf::iota<wide, place::rebound<std::int32_t>::tensor<columns, rows, wide>>(b);
        }) == R"(
int32 [columns, rows/q, wide/p], 8 x 4 x 40, on the mesh p:2 q:2
columns 0
+-----------------------+-----------------------+
| rank 0                | rank 2                |
|  0  1  2  3  4 ... 19 | 20 21 22 23 24 ... 39 |
|  0  1  2  3  4 ... 19 | 20 21 22 23 24 ... 39 |
+-----------------------+-----------------------+
| rank 1                | rank 3                |
|  0  1  2  3  4 ... 19 | 20 21 22 23 24 ... 39 |
|  0  1  2  3  4 ... 19 | 20 21 22 23 24 ... 39 |
+-----------------------+-----------------------+
columns 7
+-----------------------+-----------------------+
| rank 0                | rank 2                |
|  0  1  2  3  4 ... 19 | 20 21 22 23 24 ... 39 |
|  0  1  2  3  4 ... 19 | 20 21 22 23 24 ... 39 |
+-----------------------+-----------------------+
| rank 1                | rank 3                |
|  0  1  2  3  4 ... 19 | 20 21 22 23 24 ... 39 |
|  0  1  2  3  4 ... 19 | 20 21 22 23 24 ... 39 |
+-----------------------+-----------------------+
)");
  CHECK(drawn("padded:p+q", [](thread_backend& b) {
          return mtf::iota<padded, place::rebound<std::int32_t>::tensor<padded>>(b);
        }) == R"(
int32 [padded/p+q], 5, on the mesh p:2 q:2
+--------+--------+--------+--------+
| rank 0 | rank 1 | rank 2 | rank 3 |
| 0 1    | 2 3    | 4      |        |
+--------+--------+--------+--------+
)");
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
