// Gradients where a function is flat because a part of it has over- or underflowed: 0, not 0 times infinity, in a map
// of the user's as in one composed of operations; and where something that has no derivative was not chosen.
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

namespace {

using backend = mtf::kokkos_backend<>;
struct n : mtf::dim<"n", 8> {};
template <class T>
using here = mtf::place<T, mtf::layout<mtf::mesh<>>, backend>;
template <template <class...> class Tensor>
struct one {
  Tensor<n> x;
  MTF_FIELDS(x);
};

// A user's own.
struct own_sigmoid {
  template <class X>
  MTF_FUNCTION auto operator()(X x) const {
    return 1 / (1 + mtf::math::exp(-x));
  }
};
struct own_silu {
  template <class X>
  MTF_FUNCTION auto operator()(X x) const {
    return x / (1 + mtf::math::exp(-x));
  }
};
struct own_gate {  // of two: closed by y
  template <class X, class Y>
  MTF_FUNCTION auto operator()(X x, Y y) const {
    return x / (1 + mtf::math::exp(-y));
  }
};
struct own_gumbel {
  template <class X>
  MTF_FUNCTION auto operator()(X x) const {
    return mtf::math::exp(-mtf::math::exp(-x));
  }
};
struct own_saturation {
  template <class X>
  MTF_FUNCTION auto operator()(X x) const {
    return mtf::math::tanh(mtf::math::exp(-x));
  }
};
struct own_inverse_root {
  template <class X>
  MTF_FUNCTION auto operator()(X x) const {
    return mtf::math::rsqrt(1 + mtf::math::exp(-x));
  }
};
struct own_root {
  template <class X>
  MTF_FUNCTION auto operator()(X x) const {
    return mtf::math::sqrt(mtf::math::relu(x));
  }
};

/// The gradient of the sum of f(x).
template <class T, class F>
std::vector<double> gradient(F const& f, std::vector<double> const& at) {
  mtf::single_rank alone;
  backend machine(alone);
  using X = typename here<T>::template tensor<n>;
  std::vector<T> x;
  for (double const v : at) x.push_back(static_cast<T>(static_cast<float>(v)));
  one<here<T>::template tensor> const p{mtf::from_global<X>(machine, x)};
  auto const [value, g] = mtf::value_and_grad([&](auto const& q) { return mtf::sum(f(q.x)); })(p);
  std::vector<double> all;
  for (T const v : g.x.complete().local()) all.push_back(static_cast<double>(static_cast<float>(v)));
  return all;
}

TEST_CASE_TEMPLATE("what has saturated has the gradient 0", T, float, double, mtf::bfloat16) {
  std::vector<double> const at{-1e9, -1e30, -800, -710, -700, -105, -89, -88.7};
  auto const check = [&](char const* name, auto const& f) {
    CAPTURE(std::string(name));
    auto const g = gradient<T>(f, at);
    for (std::size_t i = 0; i < g.size(); ++i) {
      CAPTURE(at[i]);
      CHECK(std::abs(g[i]) < 1e-19);  // of the slowest, e^(x/2) / 2
    }
  };
  check("sigmoid", [](auto const& x) { return mtf::sigmoid(x); });
  check("silu", [](auto const& x) { return mtf::silu(x); });
  check("softplus", [](auto const& x) { return mtf::softplus(x); });
  check("gelu", [](auto const& x) { return mtf::gelu(x); });
  check("a map: sigmoid", [](auto const& x) { return mtf::map(own_sigmoid{}, x); });
  check("a map: silu", [](auto const& x) { return mtf::map(own_silu{}, x); });
  check("a map: a gate", [](auto const& x) { return mtf::map(own_gate{}, mtf::stop_gradient(0 * x + 3), x); });
  check("a map: exp(-exp(-x))", [](auto const& x) { return mtf::map(own_gumbel{}, x); });
  check("a map: tanh(exp(-x))", [](auto const& x) { return mtf::map(own_saturation{}, x); });
  check("a map: 1 / sqrt(1 + exp(-x))", [](auto const& x) { return mtf::map(own_inverse_root{}, x); });
  check("operations: sigmoid", [](auto const& x) { return 1 / (1 + mtf::exp(-x)); });
  check("operations: silu", [](auto const& x) { return x / (1 + mtf::exp(-x)); });
  check("operations: a product with a gate", [](auto const& x) { return x * (1 / (1 + mtf::exp(-x))); });
  check("operations: exp(-exp(-x))", [](auto const& x) { return mtf::exp(-mtf::exp(-x)); });
  check("operations: tanh(exp(-x))", [](auto const& x) { return mtf::tanh(mtf::exp(-x)); });
  check("operations: 1 / sqrt(1 + exp(-x))", [](auto const& x) { return mtf::rsqrt(1 + mtf::exp(-x)); });
  check("operations: sigmoid of exp", [](auto const& x) { return mtf::sigmoid(mtf::exp(-x)); });
  check("operations: x^-2 of exp", [](auto const& x) { return mtf::pow(mtf::exp(-x), -2); });
  check("operations: x^-1.5 of exp", [](auto const& x) { return mtf::pow(mtf::exp(-x), -1.5); });
}

TEST_CASE_TEMPLATE("what was not chosen gets no gradient", T, float, double, mtf::bfloat16) {
  std::vector<double> const at{-1, -0.5, 0, -0.0, -1e30, -2, -3, -4};
  auto const check = [&](char const* name, auto const& f, double want) {
    CAPTURE(std::string(name));
    for (double const g : gradient<T>(f, at)) CHECK(g == want);
  };
  check("where of a root", [](auto const& x) { return mtf::where(x > 0, mtf::sqrt(x), 2 * x); }, 2);
  check("where of a logarithm", [](auto const& x) { return mtf::where(x > 0, mtf::log(x), 2 * x); }, 2);
  check("where of a power", [](auto const& x) { return mtf::where(x > 0, mtf::pow(x, 0.5), 2 * x); }, 2);
  check("a root of relu", [](auto const& x) { return mtf::sqrt(mtf::relu(x)); }, 0);
  check("a root of clip", [](auto const& x) { return mtf::sqrt(mtf::clip(x - 1, 0, 1)); }, 0);
  check("a root of max", [](auto const& x) { return mtf::sqrt(mtf::max(x - 1, 0 * mtf::stop_gradient(x))); }, 0);
  check("a map: a root of relu", [](auto const& x) { return mtf::map(own_root{}, x); }, 0);
}

// What is not flat stays what it is: an infinite slope is infinite, and what is not a number is none.
TEST_CASE_TEMPLATE("slopes that are infinite or not numbers are told", T, float, double) {
  double const nan = std::nan("");
  auto const root = gradient<T>([](auto const& x) { return mtf::sqrt(x); }, {0, 0, 0, 0, 0, 0, 0, nan});
  for (std::size_t i = 0; i < 7; ++i) CHECK(root[i] == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(root[7]));
  CHECK(
      std::isnan(gradient<T>([](auto const& x) { return mtf::map(own_sigmoid{}, x); }, {nan, 0, 0, 0, 0, 0, 0, 0})[0]));
  CHECK(std::isnan(gradient<T>([](auto const& x) { return mtf::silu(x); }, {nan, 0, 0, 0, 0, 0, 0, 0})[0]));
  CHECK(std::isnan(gradient<T>([](auto const& x) { return mtf::gelu(x); }, {nan, 0, 0, 0, 0, 0, 0, 0})[0]));
}

}  // namespace
