// Gradients of every operation against central differences, in double.
#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/single_rank.hpp>

#include "operation_cases.hpp"

namespace {

using backend = mtf::kokkos_backend<>;
using here = mtf::place<double, mtf::layout<mtf::mesh<>>, backend>;

struct check_gradients {
  backend& machine;

  template <template <template <class...> class> class Structure, class F>
  void operator()(char const* name, F f) const {
    CAPTURE(name);
    using parameters = Structure<here::tensor>;
    cases::surroundings<here, backend> const env{machine};
    auto const loss = [&](auto const& p) { return cases::weighted_sum(f(p, env)); };
    auto const p = cases::inputs<parameters>(machine);
    auto const [value, gradients] = mtf::value_and_grad(loss)(p);
    REQUIRE(mtf::item(value) == doctest::Approx(mtf::item(loss(p))));

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
  auto const [value, gradients] = mtf::value_and_grad([](auto const& q) { return mtf::sum(q.x * mtf::stop_gradient(q.x * q.y)); })(p);
  CHECK(gradients.y.is_zero());
  auto const g = gradients.x.complete().local(), x = p.x.local(), y = p.y.local();
  for (std::size_t i = 0; i < g.size(); ++i) CHECK(g[i] == doctest::Approx(x[i] * y[i]));
}

}  // namespace
