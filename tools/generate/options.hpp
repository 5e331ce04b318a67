#pragma once
// The command line of `generate`.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mtf/core/extents_value.hpp>

#include "../sizes.hpp"
#include "sampling.hpp"

namespace mtf::tools {

/// What the command line and the model's directory say.
struct generate_options {
  std::string model, tokenizer;  // paths
  std::string mesh = "one:1", layout;
  std::vector<std::string> prompts;               // texts
  std::string question;                           // or one for the assistant that the model is
  std::string system;                             // what it is told first, in place of its template's words
  std::vector<std::vector<std::int32_t>> tokens;  // or ids, which then are written too
  bool several = false;                           // a file of prompts: written is a JSON object a line
  sampling how;
  std::uint64_t seed = 1;
  std::int64_t most = 128, rows = 16, chunk = 256;  // new tokens, prompts at once, tokens of a prompt at once
  std::vector<std::string> stops;
  std::vector<std::int32_t> ends;     // tokens that end a text
  std::optional<std::int32_t> first;  // what stands before a text that is empty
  bool echo = false, quiet = false;
  bool ranks_as_threads = false;
  mtf::extents_value extents;  // of the model; batch, sequence and memory follow from the prompts
};

/// What parsing came to: options, or a reason to end at once.
struct generate_line {
  generate_options chosen;
  std::size_t model = 0;  // which of those that the program has
  std::optional<std::string> wrong, help;
};
/// `models`: what config.json says of each.
generate_line parse_generate(int argc, char** argv, std::vector<sizes_of_task> const& models,
                             bool has_ranks_as_threads);

}  // namespace mtf::tools
