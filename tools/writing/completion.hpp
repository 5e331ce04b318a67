#pragma once
// A text that a model writes on: what was asked, and what it came to so far.
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/ops/create/random.hpp>

#include "sampling.hpp"
#include "text_stream.hpp"

namespace mtf::tools {

/// A token that was drawn.
struct drawn_token {
  std::int32_t id = 0;
  /// Logarithms of probabilities, of the logits as they are before anything is done to them: the token's, and those of
  /// the most likely ones, if they were asked for.
  float log_probability = 0;
  std::vector<std::pair<std::int32_t, float>> most_likely;
};

/// What a step brought.
struct piece {
  std::optional<drawn_token> token;  // one that belongs to the text; the end of a text does not
  std::string text;                  // whole letters
  /// "stop": the model ended it, or a stop string came. "length". "error": see text. Else empty: there is more to come.
  std::string_view ended_by;
};

/// Who asks keeps hold of it until it has ended, or says that it is gone.
struct completion {
  std::vector<std::int32_t> prompt;  // one token at least, and less than the model has positions
  sampling how;
  mtf::random_key key{1};
  std::int64_t most = 16, least = 0;                 // tokens; before the least the text does not end
  std::vector<std::int32_t> ends;                    // tokens that end the text
  std::vector<std::pair<std::int32_t, float>> bias;  // added to logits
  std::optional<std::int64_t> most_likely;           // so many are told with each token
  std::optional<text_stream> stream;                 // none: tokens alone
  std::function<void(piece const&)> tell;            // called by the thread that steps
  std::atomic<bool> gone = false;                    // nobody waits for it any more
  std::vector<std::int32_t> answer;                  // so far
};

}  // namespace mtf::tools
