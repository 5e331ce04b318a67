// Slips that compile: each is a user_error that names it, and nothing crashes.
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/sorting.hpp>

#include "../support/error_of.hpp"

namespace {

using backend = mtf::kokkos_backend<>;
using here = mtf::place<double, mtf::layout<mtf::mesh<>>, backend>;
struct m : mtf::dim<"m", 4> {};
struct n : mtf::dim<"n", 3> {};

template <template <class...> class Tensor>
struct layer {
  Tensor<m, n> w;
  Tensor<n> b;
  MTF_FIELDS(w, b);
};
template <template <class...> class Tensor>
struct stack {
  std::array<layer<Tensor>, 2> layers;
  Tensor<m> x;
  MTF_FIELDS(layers, x);
};
using parameters = stack<here::tensor>;

parameters filled(backend& machine) {
  parameters p;
  double value = 0.5;
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::full<std::remove_cvref_t<decltype(x)>>(machine, value += 0.25); },
                       p);
  return p;
}
constexpr auto loss = [](auto const& p) {
  auto y = p.x;
  return mtf::sum(mtf::einsum<n>(y, p.layers[0].w) + p.layers[0].b) * mtf::sum(p.layers[1].w * p.layers[1].w) +
         mtf::sum(p.layers[1].b);
};

TEST_CASE("a tensor without a value is named") {
  mtf::single_rank alone;
  backend machine(alone);
  here::tensor<m, n> empty;
  auto const full = mtf::ones<here::tensor<m, n>>(machine);
  std::string const expected = "a tensor [m, n] has no value: it was declared and never filled";
  auto const check = [&](auto const& f) { CHECK(error_of(f).substr(0, expected.size()) == expected); };
  check([&] { return empty + 1; });
  check([&] { return empty * full; });
  check([&] { return full * empty; });
  check([&] { return mtf::einsum<m>(full, empty); });
  check([&] { return mtf::softmax<n>(empty); });
  check([&] { return mtf::where(full > 0, full, empty); });
  check([&] { return mtf::to_global(empty); });
  check([&] { return empty.local(); });
  check([&] { return mtf::transpose<n, m>(empty); });
  check([&] { return mtf::stop_gradient(empty); });
  check([&] { return mtf::complete(empty); });
  mtf::gradients_t<parameters> const never{};
  CHECK(error_of([&] { return never.x.complete(); }).starts_with("a gradient [m] has no value"));
}

TEST_CASE("a parameter without a value is named by its path") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const differentiate = mtf::value_and_grad(loss);
  CHECK(error_of([&] {
          return differentiate(parameters{});
        }).starts_with("the parameter layers.0.w [m, n] has no value"));
  auto p = filled(machine);
  CHECK(error_of([&] { return differentiate(p); }) == "");
  p.layers[1].b = {};
  CHECK(error_of([&] { return differentiate(p); }).starts_with("the parameter layers.1.b [n] has no value"));
}

template <template <class...> class Tensor>
struct nothing {
  MTF_FIELDS();
};
template <template <class...> class Tensor>
struct no_layers {
  std::array<layer<Tensor>, 0> layers;
  nothing<Tensor> more;
  MTF_FIELDS(layers, more);
};
TEST_CASE("a structure without a tensor is refused where there is nothing to differentiate") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const x = mtf::ones<here::tensor<m>>(machine);
  auto const of_x = [](auto const&, auto const& y) { return mtf::sum(y); };
  for (auto const& said : {error_of([&] { return mtf::value_and_grad(of_x)(nothing<here::tensor>{}, x).value; }),
                           error_of([&] { return mtf::value_and_grad(of_x)(no_layers<here::tensor>{}, x).value; }),
                           error_of([&] { return mtf::accumulated(of_x, 2)(nothing<here::tensor>{}, x); })})
    CHECK(said == "a structure of parameters has no tensor: its arrays are empty; give it one at least");
}

TEST_CASE("a gradient of a gradient is refused, not zero") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const p = filled(machine);
  std::string const expected = "value_and_grad inside a function that is being differentiated";
  auto const cube = [](auto const& q) { return mtf::sum(q.x * q.x * q.x); };
  auto const squared_norm = [&](auto const& q) {
    auto const g = mtf::value_and_grad(cube)(q).gradients.x.complete();
    return mtf::sum(g * g);
  };
  CHECK(error_of([&] { return mtf::value_and_grad(squared_norm)(p); }).starts_with(expected));
  // The outer function's tensors captured by the inner one.
  auto const captured = [&](auto const& q) {
    return mtf::value_and_grad([&](auto const& r) { return mtf::sum(r.x * q.x); })(p).value;
  };
  CHECK(error_of([&] { return mtf::value_and_grad(captured)(p); }).starts_with(expected));
  auto const only_captured = [&](auto const& q) {
    return mtf::value_and_grad([&](auto const&) { return mtf::sum(q.x); })(p).value;
  };
  CHECK(error_of([&] { return mtf::value_and_grad(only_captured)(p); }).starts_with(expected));
  // As a constant it is allowed: of sum(g x), g = 3 x^2 held fixed, the gradient is g.
  auto const constant = [&](auto const& q) {
    auto inner = p;
    mtf::for_each_tensor([](auto, auto const& from, auto& to) { to = mtf::stop_gradient(from); }, q, inner);
    return mtf::sum(mtf::value_and_grad(cube)(inner).gradients.x.complete() * q.x);
  };
  auto const g = mtf::value_and_grad(constant)(p).gradients.x.complete().local(), x = p.x.local();
  for (std::size_t i = 0; i < g.size(); ++i) CHECK(g[i] == doctest::Approx(3 * x[i] * x[i]));
}

TEST_CASE("tensors that the function kept are constants afterwards") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const p = filled(machine);
  here::tensor<m> parameter, result;
  auto const keeping = [&](auto const& q) {
    parameter = q.x;
    result = q.x * 2;
    return mtf::sum(result * q.x);
  };
  auto const first = mtf::value_and_grad(keeping)(p);
  CHECK(mtf::item(mtf::sum(parameter + result)) == doctest::Approx(3 * mtf::item(mtf::sum(p.x))));
  // In another differentiated function too, and as its parameters.
  auto const old_result = result, old_parameter = parameter;
  auto const second = mtf::value_and_grad([&](auto const& q) { return mtf::sum(old_result * q.x * old_parameter); })(p);
  auto const g = second.gradients.x.complete().local(), x = p.x.local();
  for (std::size_t i = 0; i < g.size(); ++i) CHECK(g[i] == doctest::Approx(2 * x[i] * x[i]));
  auto moved = p;
  moved.x = old_parameter;
  CHECK(mtf::item(mtf::value_and_grad(keeping)(moved).value) == doctest::Approx(mtf::item(first.value)));
}

TEST_CASE("a temperature is a number from 0 on") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const x = mtf::ones<here::tensor<m, n>>(machine);
  CHECK(error_of([&] { return mtf::categorical<n>(x, mtf::random_key(1), -1); }) ==
        "categorical: the temperature is -1.000000; a number from 0 on was expected: 0 chooses the largest, 1 by the "
        "probabilities");
  CHECK(
      error_of([&] { return mtf::categorical<n>(x, mtf::random_key(1), std::nan("")); }).starts_with("categorical: "));
}

}  // namespace
