#pragma once
// Numbers of a GPT-2 that are no sizes.

namespace mtf::gpt2 {

/// As config.json has them.
struct settings {
  double epsilon = 1e-5;  // layer_norm_epsilon
};

}  // namespace mtf::gpt2
