// Gradients of every operation against central differences, in double.
#include <cmath>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/train/first_not_finite.hpp>

#include "support/operation_cases.hpp"

namespace {

using backend = mtf::kokkos_backend<>;
using here = mtf::place<double, mtf::layout<mtf::mesh<>>, backend>;

struct check_gradients {
  backend& machine;

  template <template <template <class...> class> class Structure, class F>
  void operator()(char const* name, F f) const {
    std::string const operation(name);
    CAPTURE(operation);
    using parameters = Structure<here::tensor>;
    cases::surroundings<here, backend> const env{machine};
    auto const loss = [&](auto const& p) { return cases::weighted_sum(f(p, env)); };
    auto const p = cases::inputs<parameters>(machine);
    auto const [value, gradients] = mtf::value_and_grad(loss)(p);
    REQUIRE(mtf::item(value) == doctest::Approx(mtf::item(loss(p))));
    CHECK(mtf::first_not_finite(machine, p, [&] { mtf::value_and_grad(loss)(p); }) == "");

    double worst = 0, largest = 0;
    auto moved = p;
    mtf::for_each_tensor(
        [&](auto, auto const& x, auto& y, auto const& g) {
          using X = std::remove_cvref_t<decltype(x)>;
          auto const exact = g.complete().local();
          auto const at = x.local();
          for (std::size_t i = 0; i < at.size(); ++i) {
            double const h = 1e-5;
            std::array<double, 2> side{};
            for (int s = 0; s < 2; ++s) {
              auto shifted = at;
              shifted[i] += s == 0 ? -h : h;
              y = mtf::from_global<X>(machine, shifted);
              side[static_cast<std::size_t>(s)] = mtf::item(loss(moved));
            }
            y = x;
            worst = std::max(worst, std::abs((side[1] - side[0]) / (2 * h) - exact[i]));
            largest = std::max(largest, std::abs(exact[i]));
          }
        },
        p, moved, gradients);
    CHECK(worst <= 1e-6 * std::max(1.0, largest));
    CHECK(largest > 0);
  }
};

/// stop_gradient is where differences and gradients are meant to disagree.
struct check_all_but_stop {
  check_gradients check;
  template <template <template <class...> class> class Structure, class F>
  void operator()(char const* name, F f) const {
    if (std::string_view(name) != "stop_gradient") check.template operator()<Structure>(name, f);
  }
};

TEST_CASE("gradients equal central differences") {
  mtf::single_rank alone;
  backend machine(alone);
  cases::all(check_all_but_stop{{machine}});
}

TEST_CASE("nothing flows through stop_gradient") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const p = cases::inputs<cases::two<here::tensor>>(machine);
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
  auto const p = cases::inputs<cases::two<here::tensor>>(machine);
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
  copy.add(mtf::pass::forward, mtf::limit::memory, 1, 0, 8);
  table.add(mtf::pass::forward, mtf::limit::memory, 1, 0, 8);
  CHECK(std::string_view(copy.rows().front().operation) == "inner");
  CHECK(std::string_view(table.rows().front().operation) == "outer");
  copy = std::move(table);
  copy.leave();
  CHECK(copy.rows().size() == 1);
  CHECK(std::string_view(copy.rows().front().operation) == "outer");
}

}  // namespace
