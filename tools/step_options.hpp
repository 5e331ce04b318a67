#pragma once
// How a training step is done: what its plan depends on.
#include <optional>
#include <string>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/extents_value.hpp>

#include "sizes.hpp"

namespace mtf::tools {

/// What the command lines of `train` and `plan` say of a step.
struct step_options {
  std::string mesh, layout;  // those of the executable, or, where it takes any, those asked for
  std::optional<std::string> upper_layout;
  mtf::extents_value extents;     // of the dimensions that are values
  named_sizes sizes;              // the model's, for people
  std::string size_flags;         // that said so
  mtf::config_values config;      // of the file that did, if it is another tool's
  int accumulate = 1;             // micro-batches in a step
  bool recompute = false;         // layers in the backward pass, instead of keeping what they computed
  bool state_is_split = true;     // the optimizer's
  bool gradients_overlap = true;  // their completion, with the backward pass
  std::string optimizer = "adamw";
};

}  // namespace mtf::tools
