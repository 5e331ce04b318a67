#pragma once
// The loss of a language model whose logits are never stored whole.
#include <mtf/autodiff/as_computed.hpp>
#include <mtf/ops/nn/linear_cross_entropy.hpp>
#include <mtf/ops/reduction/reduce.hpp>

namespace mtf::models {

/// Model::loss(parameters, ids, labels, more...) for less memory: logits are made for some rows at a time, and once
/// more in the backward pass. `more`: the model's settings, or further what its `features` take.
template <class Model>
constexpr auto loss_in_chunks(auto const& parameters, auto const& ids, auto const& labels, auto const&... more) {
  auto const& p = mtf::as_computed(parameters);
  auto const h = Model::features(p, ids, more...);
  return Model::with_output(p, [&](auto const& table) {
    return mtf::weighted_mean(mtf::linear_cross_entropy<typename Model::vocab>(h, table, labels), labels >= 0);
  });
}

}  // namespace mtf::models
