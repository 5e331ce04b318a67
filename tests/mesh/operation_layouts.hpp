#pragma once
// Every operation's result and gradients under a layout against one rank, in double.
#include <string>
#include <vector>

#include "mpi_main.hpp"

#include <mtf/single_rank.hpp>

#include "../operation_cases.hpp"

namespace operation_layouts {

using backend = mtf::kokkos_backend<>;
template <class Layout>
using place = mtf::place<double, Layout, backend>;
using whole = mtf::layout<mtf::mesh<>>;

/// The result of a case and the gradients of a weighted sum of it, all gathered, in one list.
template <template <template <class...> class> class Structure, class Layout, class F>
std::vector<double> outcome(backend& machine, F f) {
  using here = place<Layout>;
  using parameters = Structure<here::template tensor>;
  cases::surroundings<here, backend> const env{machine};
  auto const p = cases::inputs<parameters>(machine);
  std::vector<double> all;
  auto const append = [&](auto const& x) {
    auto const values = mtf::to_global(x);
    all.insert(all.end(), values.begin(), values.end());
  };
  append(f(p, env));
  auto const [value, gradients] = mtf::value_and_grad([&](auto const& q) { return cases::weighted_sum(f(q, env)); })(p);
  append(value);
  mtf::for_each_tensor([&](auto, auto const& g) { append(g.complete()); }, gradients);
  return all;
}

template <class Layout>
struct compare {
  backend& alone;
  backend& machine;

  template <template <template <class...> class> class Structure, class F>
  void operator()(char const* name, F f) const {
    CAPTURE(name);
    auto const want = outcome<Structure, whole>(alone, f);
    auto const found = outcome<Structure, Layout>(machine, f);
    REQUIRE(found.size() == want.size());
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i)
      worst = std::max(worst, std::abs(found[i] - want[i]) / std::max(1.0, std::abs(want[i])));
    CHECK(worst < 1e-12);
  }
};

template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
void equal_one_rank() {
  using mesh = mtf::mesh_of<Mesh>;
  if (mpi_main::ranks() != mesh::size) return;
  CAPTURE(Rules.view());
  using layout = mtf::layout_of<Mesh, Rules, cases::a, cases::b, cases::c, cases::d, cases::e, cases::v>;
  mtf::single_rank one;
  mtf::mpi_collectives ranks(mesh::shape());
  backend alone(one), machine(ranks);
  cases::all(compare<layout>{alone, machine});
}

}  // namespace operation_layouts
