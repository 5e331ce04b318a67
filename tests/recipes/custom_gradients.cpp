// Gradients that the program gives.
#include "on_ranks.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <mtf/autodiff/custom_vjp.hpp>

namespace {

struct batch : mtf::dim<"batch", 8> {};
struct width : mtf::dim<"width", 6> {};

constexpr auto rounded = [](auto const& x) {
  return mtf::custom_vjp([](auto const& y) { return mtf::round(y); }, [](auto const& g) { return g; }, x);
};

constexpr auto with_clipped_gradient = [](auto const& x, double most) {
  return mtf::custom_vjp([](auto const& y, double limit) { return std::pair(y, limit); },
                         [](double limit, auto const& g) {
                           auto const rms = mtf::sqrt(mtf::mean(mtf::square(g)));
                           return g * (limit / mtf::max(rms, limit));
                         },
                         x, most);
};

template <template <class...> class Tensor>
struct parameters {
  Tensor<batch, width> x;
  MTF_FIELDS(x);
};

template <class Layout>
void check() {
  recipes::on_ranks<Layout>([](recipes::backend& machine) {
    using here = mtf::place<double, Layout, recipes::backend>;
    using X = typename here::template tensor<batch, width>;
    parameters<here::template tensor> const p{recipes::random<X>(machine, "x") * 3};
    auto const weights = recipes::random<X>(machine, "weights");
    auto const x = mtf::to_global(p.x), w = mtf::to_global(weights);

    // What is rounded is used; the gradient is that of what was not.
    auto const straight = [](auto const& q, auto const& by) { return mtf::sum(rounded(q.x) * by); };
    auto const [value, gradients] = mtf::value_and_grad(straight)(p, weights);
    double want = 0;
    for (std::size_t i = 0; i < x.size(); ++i) want += std::nearbyint(x[i]) * w[i];
    CHECK(mtf::item(value) == doctest::Approx(want));
    CHECK(mtf::to_global(gradients.x.complete()) == w);

    double squares = 0;
    for (double const e : w) squares += e * e;
    double const rms = std::sqrt(squares / static_cast<double>(w.size()));
    for (double const limit : {rms / 4, 2 * rms}) {
      auto const clipped = [&](auto const& q, auto const& by) {
        return mtf::sum(with_clipped_gradient(q.x, limit) * by);
      };
      auto expected = w;
      for (double& e : expected) e *= limit < rms ? limit / rms : 1;
      recipes::check_close(mtf::to_global(mtf::value_and_grad(clipped)(p, weights).gradients.x.complete()), expected,
                           1e-12);
    }
  });
}

TEST_CASE("a straight-through estimator, and an activation's gradient that is clipped") {
  check<mtf::layout<mtf::mesh<>>>();
  check<mtf::layout_of<"data:2;model:2", "batch:data;width:model", batch, width>>();
  check<mtf::layout_of<"data:4", "batch:data", batch, width>>();
}

}  // namespace
