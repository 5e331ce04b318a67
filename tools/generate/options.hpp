#pragma once
// The command line of `generate`.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../model_choice.hpp"
#include "../writing/generator.hpp"
#include "../writing/sampling.hpp"

namespace mtf::tools {

/// What the command line and the model's directory say.
struct generate_options {
  model_choice on;
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
};

/// What parsing came to: options, or a reason to end at once.
struct generate_line {
  generate_options chosen;
  std::size_t model = 0;  // which of those that the program has
  std::optional<std::string> help;
};
/// `models`: those that the program has.
generate_line parse_generate(int argc, char** argv, std::vector<generator> const& models);

}  // namespace mtf::tools
