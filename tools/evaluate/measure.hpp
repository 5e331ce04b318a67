#pragma once
// Texts and questions in, figures out: what evaluation does besides the model's own work, the same on all ranks.
#include <cstdint>
#include <functional>
#include <vector>

#include "options.hpp"

namespace mtf::tools {

/// What is asked of a model, with all of its ranks.
struct losses_on_ranks {
  std::int64_t vocabulary = 0, positions = 0;
  std::int64_t rows_of = 1, tokens_of = 1;  // rows, and tokens of a row, come in multiples of these: ranks split them
  bool speaks = true;                       // whether this rank writes
  /// Of `ids` [rows, tokens]: the cross-entropy of predicting each of `labels` [rows, tokens], in nats; 0 where a label
  /// is below 0.
  std::function<std::vector<float>(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& labels,
                                   std::int64_t rows)>
      losses{};
};

/// Writes what is asked for. What cannot be is a user_error.
void measure(evaluate_options const& o, losses_on_ranks const& model);

}  // namespace mtf::tools
