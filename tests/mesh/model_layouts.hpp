#pragma once
// The example's model, small, under a mesh and layout against one rank: equal losses for 20 steps with dropout, equal
// gradients at step 0, the same initial parameters to the bit, and every gradient sent once.
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "mpi_main.hpp"

#include <mtf/single_rank.hpp>

#include "../../examples/transformer/model.hpp"
#include "model_config.hpp"

namespace model_layouts {

using config = model_config<model_sizes{.batch = 8, .sequence = 8, .d_model = 16, .heads = 4, .d_ff = 32, .vocab = 24}>;

using backend = mtf::kokkos_backend<>;
constexpr int steps = 20;

/// What a run came to, gathered on every rank.
struct outcome {
  std::vector<double> losses, gradient_norms;
  std::map<std::string, std::vector<double>> initial, gradients;
};

/// "upper.blocks.0.wq" is layer 1 of two.
inline std::string layer_path(std::string_view path) {
  return path.starts_with("upper.blocks.0") ? "blocks.1" + std::string(path.substr(14)) : std::string(path);
}

template <class T, class Layout, class Upper>
outcome train(backend& machine) {
  using model = transformer::model<config, Upper>;
  using parameters = typename model::template parameters<mtf::place<T, Layout, backend>::template tensor>;
  using tokens = typename mtf::place<std::int32_t, Layout, backend>::template tensor<config::batch, config::sequence>;
  outcome out;
  mtf::random_key const seed(5);
  auto p = model::template initial<parameters>(machine, seed);
  // Initial values where zeros and ones would hide mistakes.
  mtf::for_each_tensor(
      [&](auto path, auto& x) {
        using X = std::remove_cvref_t<decltype(x)>;
        x = x + mtf::random_uniform<X>(machine, seed.of("more").of(layer_path(path)), -0.1, 0.1);
        auto const all = mtf::to_global(x);
        out.initial[layer_path(path)].assign(all.begin(), all.end());
      },
      p);
  mtf::adamw<parameters> optimizer(machine, {.beta2 = 0.95, .weight_decay = 0.1, .clip_norm = 0.5});
  auto const step_function = mtf::value_and_grad([](auto const& q, auto const& ids, auto const& labels, typename model::noise n) {
    return model::loss(q, ids, labels, n);
  });
  for (int step = 0; step < steps; ++step) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens::shape_type::size)), labels(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<std::int32_t>(seed.of("ids").of(i + ids.size() * static_cast<std::size_t>(step)).bits() % 24);
      labels[i] = (ids[i] * 5 + 7) % 24;
    }
    auto const [value, gradients] =
        step_function(p, mtf::from_global<tokens>(machine, ids), mtf::from_global<tokens>(machine, labels),
                      typename model::noise{0.1, seed.of("dropout").of(static_cast<std::uint64_t>(step))});
    out.losses.push_back(mtf::item(value));
    if (step == 0)
      mtf::for_each_tensor(
          [&](auto path, auto const& g) {
            auto const all = mtf::to_global(g.complete());
            out.gradients[layer_path(path)].assign(all.begin(), all.end());
          },
          gradients);
    out.gradient_norms.push_back(optimizer.update(machine, p, gradients, 1e-2));
  }
  return out;
}

/// The one-rank run, once for each element type.
template <class T>
outcome const& alone() {
  static outcome const result = [] {
    mtf::single_rank one;
    backend machine(one);
    return train<T, mtf::layout<mtf::mesh<>>, void>(machine);
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
  using layout = mtf::layout_of<Mesh, Rules, config::batch, config::sequence, config::memory, config::d_model, config::heads,
                                config::d_head, config::d_ff, config::vocab>;
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
  auto const found = train<T, layout, upper>(machine);
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
