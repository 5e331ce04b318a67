// What flows to tensors that a function keeps, returns, stops or does not use; and what a profile says of both passes.
// (The gradients of operations: tests/sweep.)
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

namespace {

using backend = mtf::kokkos_backend<>;
using here = mtf::place<double, mtf::layout<mtf::mesh<>>, backend>;

struct a : mtf::dim<"a", 4> {};
struct b : mtf::dim<"b", 6> {};
template <template <class...> class Tensor>
struct two {
  Tensor<a, b> x, y;
  MTF_FIELDS(x, y);
};
two<here::tensor> drawn(backend& machine) {
  return {mtf::random_uniform<here::tensor<a, b>>(machine, mtf::random_key(7), -1, 1),
          mtf::random_uniform<here::tensor<a, b>>(machine, mtf::random_key(8), -1, 1)};
}

TEST_CASE("nothing flows through stop_gradient") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const p = drawn(machine);
  auto const [value, gradients] =
      mtf::value_and_grad([](auto const& q) { return mtf::sum(q.x * mtf::stop_gradient(q.x * q.y)); })(p);
  CHECK(gradients.y.is_zero());
  auto const g = gradients.x.complete().local(), x = p.x.local(), y = p.y.local();
  for (std::size_t i = 0; i < g.size(); ++i) CHECK(g[i] == doctest::Approx(x[i] * y[i]));
}

template <template <class...> class Tensor>
struct one_number {
  Tensor<> x;
  MTF_FIELDS(x);
};
struct m : mtf::dim<"m", 24> {};
struct n : mtf::dim<"n", 40> {};
struct k : mtf::dim<"k", 56> {};
template <template <class...> class Tensor>
struct one_matrix {
  Tensor<m, k> x;
  MTF_FIELDS(x);
};

// A gradient is final when the last node that uses its tensor is freed; a function may also keep the tensor, return it,
// or not use it at all.
TEST_CASE("gradients of tensors that are kept, returned, unused") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const p = drawn(machine);
  for (auto const when : {mtf::completed_gradients::later, mtf::completed_gradients::overlapped}) {
    std::remove_cvref_t<decltype(p.x)> kept;
    auto const [value, gradients] = mtf::value_and_grad(
        [&](auto const& q) {
          kept = q.x;
          return mtf::sum(q.x * q.x);
        },
        when)(p);
    CHECK(gradients.y.is_zero());
    auto const g = gradients.x.complete().local(), x = p.x.local();
    for (std::size_t i = 0; i < g.size(); ++i) CHECK(g[i] == doctest::Approx(2 * x[i]));
  }
  one_number<here::tensor> const s{mtf::full<here::tensor<>>(machine, 3)};
  auto const [same, gradients] = mtf::value_and_grad([](auto const& q) { return q.x; })(s);
  CHECK(mtf::item(same) == 3);
  CHECK(gradients.x.complete().local()[0] == 1);
}

TEST_CASE("a profile tells the flops and bytes of each operation") {
  mtf::single_rank alone;
  backend machine(alone);
  one_matrix<here::tensor> const a{mtf::full<here::tensor<m, k>>(machine, 0.5)};
  auto const b = mtf::full<here::tensor<k, n>>(machine, 0.25);
  mtf::profile_table table;
  machine.profile(&table);
  auto const [value, gradients] =
      mtf::value_and_grad([&](auto const& q) { return mtf::sum(mtf::softmax<n>(mtf::einsum<m, n>(q.x, b))); })(a);
  machine.profile(nullptr);
  mtf::einsum<m, n>(a.x, b);  // not noted any more
  auto const row = [&](std::string_view operation, mtf::pass when, mtf::limit bound) {
    for (auto const& r : table.rows())
      if (operation == r.operation && r.when == when && r.bound == bound) return r;
    return mtf::profile_table::row{};
  };
  auto const forward = row("einsum", mtf::pass::forward, mtf::limit::matrix);
  CHECK(forward.calls == 1);
  CHECK(forward.flops == 2.0 * 24 * 40 * 56);
  CHECK(forward.seconds > 0);
  auto const backward = row("einsum", mtf::pass::backward, mtf::limit::matrix);
  CHECK(backward.calls == 1);
  CHECK(backward.flops == forward.flops);
  CHECK(row("softmax", mtf::pass::forward, mtf::limit::memory).bytes == 2.0 * 24 * 40 * sizeof(double));
  CHECK(row("softmax", mtf::pass::backward, mtf::limit::memory).bytes == 3.0 * 24 * 40 * sizeof(double));
  auto const text = mtf::describe(table, 1, {.flops = 1e12, .bandwidth = 1e11});
  CHECK(text.find("einsum             backward  contractions        1") != std::string::npos);
}

TEST_CASE("a copy of a profile is one of its own") {
  mtf::profile_table table;
  table.enter("outer");
  auto copy = table;
  copy.enter("inner");
  copy.add(mtf::pass::forward, mtf::limit::memory, 0, 8);
  table.took(table.add(mtf::pass::forward, mtf::limit::memory, 0, 8), 2);
  CHECK(table.rows().front().seconds == 2);
  CHECK(copy.rows().front().seconds == 0);
  CHECK(std::string_view(copy.rows().front().operation) == "inner");
  CHECK(std::string_view(table.rows().front().operation) == "outer");
  copy = std::move(table);
  copy.leave();
  CHECK(copy.rows().size() == 1);
  CHECK(std::string_view(copy.rows().front().operation) == "outer");
}

}  // namespace
