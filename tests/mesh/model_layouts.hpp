#pragma once
// The example's model, small, under a mesh and layout against one rank: equal losses for 20 steps with dropout, equal
// gradients at step 0, the same initial parameters to the bit, and every gradient sent once.
#include <cmath>
#include <string_view>

#include "mpi_main.hpp"

#include <mtf/backend/single_rank.hpp>

#include "support/model_run.hpp"

namespace model_layouts {

using backend = mtf::kokkos_backend<>;
constexpr int steps = 20;

/// The one-rank run, once for each element type.
template <class T>
outcome const& alone() {
  static outcome const result = [] {
    mtf::single_rank one;
    backend machine(one);
    return train<T, mtf::layout<mtf::mesh<>>, void>(machine, steps);
  }();
  return result;
}

/// Checks one mesh and layout (and a layout for the upper half of the layers), if this run has its number of ranks.
template <class T>
void equals_one_rank(std::string_view mesh_words, std::string_view rules, std::string_view upper = "same") {
  auto const mesh = mtf::mesh_from(mesh_words);
  if (mpi_main::ranks() != mesh.shape.size()) return;
  CAPTURE(mesh_words);
  CAPTURE(rules);
  CAPTURE(upper);
  bool const wide = std::is_same_v<T, double>;
  mtf::mpi_collectives ranks(mesh.shape, mesh.text());
  backend machine(ranks);
  machine.layouts().add(mtf::layout_from(mesh, rules));
  machine.layouts().add(mtf::layout_from(mesh, upper == "same" ? rules : upper));
  auto const found = train<T, mtf::any_layout<0>, mtf::any_layout<1>>(machine, steps);
  auto const& want = alone<T>();

  CHECK(found.initial == want.initial);  // to the bit
  for (std::size_t i = 0; i < want.losses.size(); ++i) {
    CHECK(found.losses[i] == doctest::Approx(want.losses[i]).epsilon(wide ? 1e-10 : 1e-4));
    CHECK(found.gradient_norms[i] == doctest::Approx(want.gradient_norms[i]).epsilon(wide ? 1e-9 : 1e-3));
  }
  double difference = 0, norm = 0;
  for (auto const& [path, g] : want.gradients)
    for (std::size_t i = 0; i < g.size(); ++i) {
      double const d = found.gradients.at(path)[i] - g[i];
      difference += d * d;
      norm += g[i] * g[i];
    }
  CHECK(std::sqrt(difference) <= (wide ? 1e-12 : 1e-5) * std::sqrt(norm));
}

}  // namespace model_layouts
