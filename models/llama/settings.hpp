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
  llama3   // those of long waves are, those of short ones not, between the two it changes smoothly
};

/// As config.json has them.
struct settings {
  double epsilon = 1e-6;  // rms_norm_eps
  double theta = 10000;   // rope_theta
  rotary_scaling scaling = rotary_scaling::none;
  double factor = 1, low_freq_factor = 1, high_freq_factor = 4;
  double original_positions = 8192;  // original_max_position_embeddings
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
    float const angle = position * frequency(2 * pair / extent);
    return sine ? std::sin(angle) : std::cos(angle);
  }

 private:
  [[nodiscard]] MTF_FUNCTION float frequency(float exponent) const {
    float const plain = 1.0F / std::pow(static_cast<float>(s.theta), exponent);
    auto const factor = static_cast<float>(s.factor);
    if (s.scaling == rotary_scaling::none) return plain;
    if (s.scaling == rotary_scaling::linear) return plain / factor;
    auto const low = static_cast<float>(s.low_freq_factor), high = static_cast<float>(s.high_freq_factor);
    auto const original = static_cast<float>(s.original_positions);
    float const wave = 6.283185307179586F / plain;
    if (wave > original / low) return plain / factor;
    if (wave < original / high) return plain;
    float const smooth = (original / wave - low) / (high - low);
    return (1 - smooth) * plain / factor + smooth * plain;
  }
};

}  // namespace mtf::llama
