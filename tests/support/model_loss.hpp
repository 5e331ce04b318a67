#pragma once
// The example's model as plans take it: its loss, its parameters, and its two inputs, ids and labels.
#include <cstdint>

#include <mtf/mtf.hpp>

#include "../../models/gpt2/model.hpp"
#include "model_config.hpp"

/// `Upper`: the layout of the upper half of the layers, if they have one of their own.
template <class Config, class Upper = void>
struct model_loss {
  using model = mtf::gpt2::model<Config, Upper>;
  static constexpr mtf::parameters<model::template parameters> parameters{};
  static constexpr mtf::input<std::int32_t, typename Config::batch, typename Config::sequence> tokens{};

  constexpr auto operator()(auto const& p, auto const& ids, auto const& labels) const {
    return model::loss(p, ids, labels);
  }
};

/// Of little work, for plans that are compared.
using small_config = model_config<model_sizes{
    .batch = 16, .sequence = 8, .d_model = 16, .heads = 4, .d_ff = 32, .vocab = 24, .layers = 6}>;
