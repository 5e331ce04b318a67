#pragma once
// The next token, of its logits: penalties, temperature, and what is left out before one is drawn.
#include <cstdint>
#include <span>
#include <vector>

#include <mtf/math/sample.hpp>

namespace mtf::tools {

/// How a token is drawn. The order is that of these lines, which is vLLM's; all of it is in float. What comes
/// behind penalties is mtf::math::sampled_row's, as where the ranks draw.
struct sampling {
  /// A token of prompt or answer has its logit divided by this if it is above 0, else multiplied (Keskar et al. 2019,
  /// as transformers has it).
  double repetition_penalty = 1;
  /// Subtracted for each time that a token is in the answer, and once if it is there at all (OpenAI's).
  double frequency_penalty = 0, presence_penalty = 0;
  /// What logits are divided by; 0: the largest is taken, the first of equal ones.
  double temperature = 1;
  /// Of tokens that are less likely than this times the most likely one, none is drawn (Nguyen et al. 2024).
  double min_p = 0;
  /// Only the k most likely are drawn, and those as likely as the k-th; 0: any (Fan et al. 2018).
  std::int64_t top_k = 0;
  /// Only the most likely that together have this probability, with the one that reaches it (Holtzman et al. 2020).
  double top_p = 1;
};

/// A user_error: all logits are NaN or -infinity.
[[noreturn]] void no_token_can_be_drawn();

/// Draws tokens. It keeps its memory from one to the next, of whatever texts they are.
class sampler {
 public:
  /// The token depends on the logits alone, as they come from the model, and on the number that draws it.
  static bool needs_no_text(sampling const& how);
  /// How it is drawn then.
  static mtf::math::sample_options options(sampling const& how);
  /// The token that a number of [0, 1) draws from `logits`, which are changed. `prompt`, `answer`: what is before it.
  /// Logits that are all NaN or -infinity: a user_error.
  std::int32_t operator()(sampling const& how, std::span<float> logits, std::span<std::int32_t const> prompt,
                          std::span<std::int32_t const> answer, double uniform);

 private:
  void penalize(sampling const& how, std::span<float> logits, std::span<std::int32_t const> prompt,
                std::span<std::int32_t const> answer);

  std::vector<std::int32_t> seen_;
};

}  // namespace mtf::tools
