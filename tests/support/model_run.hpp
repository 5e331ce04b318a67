#pragma once
// A run of the example's model, small, with dropout: what is compared between meshes and layouts.
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <mtf/kokkos.hpp>

#include "../../models/gpt2/model.hpp"
#include "model_config.hpp"

namespace model_layouts {

using config = model_config<model_sizes{.batch = 8, .sequence = 8, .d_model = 16, .heads = 4, .d_ff = 32, .vocab = 24}>;

/// What a run came to, gathered on every rank.
struct outcome {
  std::vector<double> losses, gradient_norms;
  std::map<std::string, std::vector<double>> initial, gradients;
};

/// "upper.blocks.0.wq" is layer 1 of two.
inline std::string layer_path(std::string_view path) {
  return path.starts_with("upper.blocks.0") ? "blocks.1" + std::string(path.substr(14)) : std::string(path);
}

template <class T, class Layout, class Upper, class Backend>
outcome train(Backend& machine, int steps) {
  using model = mtf::gpt2::model<config, Upper>;
  using parameters = typename model::template parameters<mtf::place<T, Layout, Backend>::template tensor>;
  using tokens = typename mtf::place<std::int32_t, Layout, Backend>::template tensor<config::batch, config::sequence>;
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
  auto const step_function =
      mtf::value_and_grad([](auto const& q, auto const& ids, auto const& labels,
                             typename model::noise n) { return model::loss(q, ids, labels, {}, n); },
                          mtf::completed_gradients::overlapped);
  for (int step = 0; step < steps; ++step) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens::shape_type::size)), labels(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] =
          static_cast<std::int32_t>(seed.of("ids").of(i + ids.size() * static_cast<std::size_t>(step)).bits() % 24);
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

}  // namespace model_layouts
