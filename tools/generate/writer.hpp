#pragma once
// Prompts in, texts out: what generation does besides the model's own work, the same on all ranks.
#include <cstdint>
#include <functional>
#include <vector>

#include "options.hpp"

namespace mtf::tools {

/// What is asked of a model, with all of its ranks.
struct model_on_ranks {
  std::int64_t vocabulary = 0, positions = 0;
  std::int64_t rows_of = 1;  // rows come in multiples of this: so many ranks split them
  bool speaks = true;        // whether this rank writes
  /// Forgets all; there will be so many rows of up to `memory` tokens.
  std::function<void(std::int64_t rows, std::int64_t memory)> begin{};
  /// The logits [rows, vocabulary] of what follows the last of `ids` [rows, n], which stand at the positions from
  /// `start` on.
  std::function<std::vector<float>(std::vector<std::int32_t> const& ids, std::int64_t start)> continued{};
};

/// Goes on from all prompts, a group of them at a time. All rows of a group are at the same position: the model reads
/// as many tokens as the shortest prompt has, and from there on one of each row, which is the next of its prompt, or
/// drawn. So no row needs padding. What cannot be is a user_error.
void write_on(generate_options const& o, model_on_ranks const& model);

}  // namespace mtf::tools
