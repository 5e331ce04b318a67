#pragma once
// What a run tells of a step.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mtf {

/// Numbers by name: the loss, the learning rate, the gradients' norm, speeds.
using named_numbers = std::vector<std::pair<std::string, double>>;

/// A step as logs and reports have it.
struct step_record {
  std::int64_t step = 0;  // how many are done, with this one
  named_numbers numbers;
  std::string remark{};  // what was unusual: "spike", "spike, skipped", "not finite, skipped"
};

}  // namespace mtf
