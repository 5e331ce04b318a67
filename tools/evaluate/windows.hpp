#pragma once
// What a model reads to say how likely tokens are: rows of tokens, and for each the one that should follow.
#include <cstdint>
#include <vector>

namespace mtf::tools {

/// Tokens as a model reads them, and for each the one behind it, or -1 if that is not counted.
struct scored_row {
  std::vector<std::int32_t> ids, labels;
};

/// The windows of a text: `context` tokens each, the last one may have less, which begin `stride` tokens apart. Each
/// predicts the token behind each of its own; counted are those that no window before predicts, so each token but the
/// first is counted once. `stride` is at most `context`, and the text has two tokens or more.
///
/// (These are the windows of Hugging Face's page "Perplexity of fixed-length models" for max_length = context + 1: it
/// counts the last token of a window among those that are read, though nothing is asked of it.)
std::vector<scored_row> windows_of(std::vector<std::int32_t> const& text, std::int64_t context, std::int64_t stride);

/// A text's continuation by `tokens`, at least one, of which the model reads the last `context` before the last of
/// them; counted are `tokens` alone. They are no more than `context`, and `before` has one token or more.
scored_row continuation_of(std::vector<std::int32_t> const& before, std::vector<std::int32_t> const& tokens,
                           std::int64_t context);

}  // namespace mtf::tools
