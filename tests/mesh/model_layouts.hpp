#pragma once
// The example's model, small, under a mesh and layout against one rank: equal losses for 20 steps with dropout, equal
// gradients at step 0, the same initial parameters to the bit, and every gradient sent once.
#include <cmath>

#include "mpi_main.hpp"

#include <mtf/backend/single_rank.hpp>

#include "model_run.hpp"

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
template <class T, mtf::fixed_string Mesh, mtf::fixed_string Rules, mtf::fixed_string Upper = "same">
void equals_one_rank() {
  using mesh = mtf::mesh_of<Mesh>;
  if (mpi_main::ranks() != mesh::size) return;
  CAPTURE(Mesh.view());
  CAPTURE(Rules.view());
  CAPTURE(Upper.view());
  bool const wide = std::is_same_v<T, double>;
  using layout = mtf::layout_of<Mesh, Rules, config::batch, config::sequence, config::memory, config::d_model,
                                config::heads, config::d_head, config::d_ff, config::vocab>;
  auto const pick = [] {
    if constexpr (Upper.view() == "same")
      return static_cast<void*>(nullptr);
    else
      return static_cast<mtf::layout_of<Mesh, Upper, config::batch, config::sequence, config::memory, config::d_model,
                                        config::heads, config::d_head, config::d_ff, config::vocab>*>(nullptr);
  };
  using upper = std::remove_pointer_t<decltype(pick())>;
  mtf::mpi_collectives ranks(mesh::shape());
  backend machine(ranks);
  auto const found = train<T, layout, upper>(machine, steps);
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
