#pragma once
// Numbers of a Llama that are no sizes: what its norms add, how fast its rotary positions turn.
#include <cmath>
#include <cstdint>

#include <mtf/mtf.hpp>

namespace mtf::llama {

/// How the angles of rotary positions are stretched for texts longer than a model was first trained on.
enum class rotary_scaling : std::uint8_t {
  none,
  linear,  // all frequencies are divided by `factor`
  llama3,  // those of long waves are, those of short ones not, between the two it changes smoothly
  yarn     // likewise, by how often a wave turns in the original positions; sines and cosines grow (Peng et al. 2023)
};

/// As config.json has them.
struct settings {
  double epsilon = 1e-6;  // rms_norm_eps
  double theta = 10000;   // rope_theta
  rotary_scaling scaling = rotary_scaling::none;
  double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
  double original_positions = 8192;  // original_max_position_embeddings
  // Of yarn: waves that turn more often than beta_fast are not stretched, and wholly below beta_slow. What sines and
  // cosines are multiplied by; 0: by what the paper has for the factor.
  double beta_fast = 32, beta_slow = 1, attention_factor = 0;
  bool truncate = true;  // the pairs where these begin and end are whole numbers
};

/// The cosine or the sine that an element at `index` of a head's `extent` has at a position: those of the first half
/// turn with those of the other (mtf::rotary_pairs::halves). In float, in the order of transformers, whose numbers
/// these are (modeling_rope_utils.py of 5.24).
struct rotary_angle {
  settings s;
  float extent = 0;
  bool sine = false;

  MTF_FUNCTION float operator()(float position, float index) const {
    float const half = extent / 2;
    float const pair = index < half ? index : index - half;
    float const angle = position * frequency(pair, 2 * pair / extent);
    float const x = sine ? std::sin(angle) : std::cos(angle);
    return s.scaling == rotary_scaling::yarn ? x * static_cast<float>(grown()) : x;
  }

 private:
  [[nodiscard]] MTF_FUNCTION float frequency(float pair, float exponent) const {
    float const turns = std::pow(static_cast<float>(s.theta), exponent), plain = 1.0F / turns;
    auto const factor = static_cast<float>(s.factor);
    if (s.scaling == rotary_scaling::none) return plain;
    if (s.scaling == rotary_scaling::linear) return plain / factor;
    if (s.scaling == rotary_scaling::yarn) {
      float const kept = 1 - stretched(pair);
      return 1.0F / (factor * turns) * (1 - kept) + plain * kept;
    }
    auto const low = static_cast<float>(s.low_freq_factor), high = static_cast<float>(s.high_freq_factor);
    auto const original = static_cast<float>(s.original_positions);
    float const wave = 6.283185307179586F / plain;
    if (wave > original / low) return plain / factor;
    if (wave < original / high) return plain;
    float const smooth = (original / wave - low) / (high - low);
    return (1 - smooth) * plain / factor + smooth * plain;
  }
  /// By yarn: how much of a pair's frequency is divided by the factor.
  [[nodiscard]] MTF_FUNCTION float stretched(float pair) const {
    double low = pair_that_turns(s.beta_fast), high = pair_that_turns(s.beta_slow);
    if (s.truncate) low = std::floor(low), high = std::ceil(high);
    low = low < 0 ? 0 : low;
    high = high > static_cast<double>(extent) - 1 ? static_cast<double>(extent) - 1 : high;
    if (low == high) high += 0.001;
    float const share = (pair - static_cast<float>(low)) / static_cast<float>(high - low);
    return share < 0 ? 0.0F : share > 1 ? 1.0F : share;
  }
  /// The pair that turns so often in the original positions.
  [[nodiscard]] MTF_FUNCTION double pair_that_turns(double times) const {
    return static_cast<double>(extent) * std::log(s.original_positions / (times * 6.283185307179586)) /
           (2 * std::log(s.theta));
  }
  [[nodiscard]] MTF_FUNCTION double grown() const {
    if (s.attention_factor != 0) return s.attention_factor;
    return s.factor <= 1 ? 1.0 : 0.1 * std::log(s.factor) + 1.0;
  }
};

}  // namespace mtf::llama
