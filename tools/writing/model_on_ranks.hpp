#pragma once
// What writing by a model asks of the ranks that have it.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace mtf::tools {

/// A model, and its caches of the keys and values of tokens so far: one of the prompt that is read, and one with a row
/// for each text that is written. All ranks call the same with the same. A row's numbers do not depend on how many
/// there are, nor on which it is.
struct model_on_ranks {
  std::int64_t vocabulary = 0, positions = 0;
  std::int64_t rows_of = 1, memory_of = 1;  // rows, and positions of a cache, are multiples of these
  bool speaks = true;                       // of all ranks the one that tells
  bool asynchronous = false;                // calls return before their work is done; `found` waits for it

  /// A message becomes that of the rank which speaks.
  std::function<void(std::span<std::int32_t> message)> tell;
  /// The prompt's cache, empty, for so many tokens.
  std::function<void(std::int64_t memory)> begin;
  /// The prompt's tokens at positions from `start` on. Gives the logits of what follows them.
  std::function<std::vector<float>(std::vector<std::int32_t> const& ids, std::int64_t start)> read;
  /// A row for each of `from`, for so many tokens each: what row from[i] has now, or, below 0, nothing. Not fewer
  /// tokens than now, unless nothing is kept.
  std::function<void(std::vector<std::int32_t> const& from, std::int64_t memory)> arrange;
  /// What was read becomes this row's, which has room for as many tokens, or for more.
  std::function<void(std::int64_t row)> keep;
  /// Of each row the token at a position. Gives the logits of what follows it, [rows, vocabulary].
  std::function<std::vector<float>(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places)> next;
  /// The same, but that the ranks themselves find each row's most likely next token: where the largest of its logits
  /// is, the first of equal ones, NaN passed over; -1: all are NaN or -infinity. Without ids and places: of each row
  /// the token that the call before found, at the position behind; nothing happened to the rows meanwhile, but that
  /// they may have become longer. A model need not have it.
  std::function<void(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places)> go_on;
  /// What the oldest `go_on` found that was not asked for yet, [rows]. On the rank that speaks alone.
  std::function<std::vector<std::int32_t>()> found;
};

}  // namespace mtf::tools
