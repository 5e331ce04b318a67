#include "sampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <mtf/core/error.hpp>

namespace mtf::tools {
namespace {

constexpr float hidden = -std::numeric_limits<float>::infinity();

}  // namespace

void no_token_can_be_drawn() {
  throw mtf::user_error(
      "no token can be drawn: all logits are NaN or -infinity; the model's weights may not be finite");
}

bool sampler::takes_most_likely(sampling const& how) {
  return static_cast<float>(how.temperature) == 0 && how.repetition_penalty == 1 && how.frequency_penalty == 0 &&
         how.presence_penalty == 0;
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
  std::size_t best = logits.size();
  for (std::size_t v = 0; v < logits.size(); ++v)
    if (logits[v] > (best < logits.size() ? logits[best] : hidden)) best = v;
  if (best == logits.size()) no_token_can_be_drawn();
  auto const temperature = static_cast<float>(how.temperature);  // of 1e-50 it is 0
  if (temperature == 0 || std::isinf(logits[best])) return static_cast<std::int32_t>(best);

  float const largest = logits[best];
  // Probabilities, but for a factor: the largest is 1. What is NaN is not drawn.
  auto const weight = [&](std::int32_t v) {
    float const w = std::exp((logits[static_cast<std::size_t>(v)] - largest) / temperature);
    return w >= static_cast<float>(how.min_p) ? w : 0.0F;
  };
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), 0);
  auto const more_likely = [&](std::int32_t a, std::int32_t b) {
    float const x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return std::isnan(x) || std::isnan(y) ? !std::isnan(x) && std::isnan(y) : x != y ? x > y : a < b;
  };
  if (how.top_k > 0 && static_cast<std::size_t>(how.top_k) < order_.size()) {
    auto const kth = order_.begin() + (how.top_k - 1);
    std::nth_element(order_.begin(), kth, order_.end(), more_likely);
    float const least = logits[static_cast<std::size_t>(*kth)];
    auto const end = std::partition(kth + 1, order_.end(),
                                    [&](std::int32_t v) { return logits[static_cast<std::size_t>(v)] == least; });
    order_.erase(end, order_.end());
  }
  auto const weigh = [&] {
    weights_.clear();
    double total = 0;
    for (auto const v : order_) total += weights_.emplace_back(weight(v));
    return total;
  };
  double total = 0;
  if (how.top_p < 1) {
    std::sort(order_.begin(), order_.end(), more_likely);
    total = weigh();
    std::size_t kept = 0;
    double sum = 0;
    while (kept < order_.size() && (kept == 0 || sum < how.top_p * total)) sum += weights_[kept++];
    order_.resize(kept);
    weights_.resize(kept);
    total = sum;
  } else {
    std::sort(order_.begin(), order_.end());  // by id, whatever order the k most likely were found in
    total = weigh();
  }
  double left = total * uniform;
  std::size_t drawn = 0, last = 0;
  for (; drawn < order_.size(); ++drawn) {
    if (weights_[drawn] == 0) continue;
    last = drawn;
    if ((left -= weights_[drawn]) < 0) break;
  }
  return order_[last];
}

}  // namespace mtf::tools
