#pragma once
// The command line of `evaluate`.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../model_choice.hpp"
#include "../sizes.hpp"

namespace mtf::tools {

/// What the command line and the model's directory say.
struct evaluate_options {
  model_choice on;
  std::string text, choices, log;              // paths
  std::string delimiter = " ";                 // between a question and a choice
  std::int64_t context = 1024, stride = 1024;  // tokens of a window, and from the begin of one to the next one's
  std::int64_t rows = 4;                       // windows at once
  std::optional<std::int32_t> first;           // what stands before a text that is empty
  bool quiet = false;
};

/// What parsing came to: options, or a reason to end at once.
struct evaluate_line {
  evaluate_options chosen;
  std::size_t model = 0;  // which of those that the program has
  std::optional<std::string> help;
};
/// `models`: what config.json says of each.
evaluate_line parse_evaluate(int argc, char** argv, std::vector<sizes_of_task> const& models,
                             bool has_ranks_as_threads);

}  // namespace mtf::tools
