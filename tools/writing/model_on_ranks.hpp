#pragma once
// What writing by a model asks of the ranks that have it.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <mtf/core/host_device.hpp>
#include <mtf/math/sample.hpp>
#include <mtf/ops/create/random.hpp>

namespace mtf::tools {

/// The number of [0, 1) by which the token at a position of a text is drawn. `key`: the bits of the text's
/// key.of("token").
MTF_FUNCTION double number_of_token(std::uint64_t key, std::int64_t position) {
  return static_cast<double>(mtf::random_key::of_bits(key).of(static_cast<std::uint64_t>(position)).bits() >> 11U) *
         0x1p-53;
}

/// 64 bits as two numbers of messages and tensors, and from them.
MTF_FUNCTION std::int32_t upper_half(std::uint64_t bits) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits >> 32U));
}
MTF_FUNCTION std::int32_t lower_half(std::uint64_t bits) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
}
MTF_FUNCTION std::uint64_t of_halves(std::int32_t upper, std::int32_t lower) {
  return std::uint64_t{static_cast<std::uint32_t>(upper)} << 32U | static_cast<std::uint32_t>(lower);
}

/// How the ranks find a row's tokens.
struct row_sampling {
  mtf::math::sample_options how{.temperature = 0};
  std::uint64_t key = 0;  // of the numbers that draw them
};

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
  /// The same, but that the ranks themselves draw each row's next token, as mtf::math::sampled_row does; -1: all logits
  /// are NaN or -infinity. `how`: of each row; none: all take the most likely token. Without ids and places: of each
  /// row the token that the call before found, at the position behind, drawn as then; nothing happened to the rows
  /// meanwhile, but that they may have become longer. A model need not have it.
  std::function<void(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places,
                     std::vector<row_sampling> const& how)>
      go_on;
  /// What the oldest `go_on` found that was not asked for yet, [rows]. On the rank that speaks alone.
  std::function<std::vector<std::int32_t>()> found;
};

}  // namespace mtf::tools
