#include "sampling.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/math/sample.hpp>

namespace mtf::tools {
void no_token_can_be_drawn() {
  throw mtf::user_error(
      "no token can be drawn: all logits are NaN or -infinity; the model's weights may not be finite");
}

bool sampler::needs_no_text(sampling const& how) {
  return how.repetition_penalty == 1 && how.frequency_penalty == 0 && how.presence_penalty == 0;
}

mtf::math::sample_options sampler::options(sampling const& how) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return {.temperature = static_cast<float>(how.temperature),  // of 1e-50 it is 0
          .min_p = static_cast<float>(how.min_p),
          .top_k = static_cast<std::int32_t>(std::clamp<std::int64_t>(how.top_k, 0, most)),
          .top_p = static_cast<float>(how.top_p)};
}

void sampler::penalize(sampling const& how, std::span<float> logits, std::span<std::int32_t const> prompt,
                       std::span<std::int32_t const> answer) {
  auto const sorted = [&](std::span<std::int32_t const> of) {
    seen_.insert(seen_.end(), of.begin(), of.end());
    std::sort(seen_.begin(), seen_.end());
  };
  if (how.repetition_penalty != 1) {
    auto const penalty = static_cast<float>(how.repetition_penalty);
    seen_.assign(prompt.begin(), prompt.end());
    sorted(answer);
    seen_.erase(std::unique(seen_.begin(), seen_.end()), seen_.end());
    for (auto const id : seen_) {
      auto& z = logits[static_cast<std::size_t>(id)];
      z = z < 0 ? z * penalty : z / penalty;
    }
  }
  if (how.frequency_penalty != 0 || how.presence_penalty != 0) {
    seen_.clear();
    sorted(answer);
    for (auto at = seen_.begin(); at != seen_.end();) {
      auto const next = std::upper_bound(at, seen_.end(), *at);
      logits[static_cast<std::size_t>(*at)] -=
          static_cast<float>(how.frequency_penalty * static_cast<double>(next - at) + how.presence_penalty);
      at = next;
    }
  }
}

std::int32_t sampler::operator()(sampling const& how, std::span<float> logits, std::span<std::int32_t const> prompt,
                                 std::span<std::int32_t const> answer, double uniform) {
  penalize(how, logits, prompt, answer);
  mtf::math::sampled_row const row(mtf::math::one_thread{}, std::ssize(logits), mtf::math::dense_logits{logits.data()});
  std::int32_t const id = row.drawn(options(how), uniform);
  if (id < 0) no_token_can_be_drawn();
  return id;
}

}  // namespace mtf::tools
