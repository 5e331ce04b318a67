#pragma once
// The command line of `serve`.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../generation_file.hpp"
#include "../model_choice.hpp"
#include "../writing/generator.hpp"
#include "../writing/sampling.hpp"

namespace mtf::tools {

struct serve_options {
  model_choice on;
  std::string name, host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::int64_t rows = 16, chunk = 256, context = 2048, most_texts = 16;
  std::size_t waiting = 256, body = 1 << 20;
  int connections = 512;
  double silence = 15;  // http_limits
  sampling how;         // where a request does not say it
  generation_file said;
};

struct serve_line {
  serve_options chosen;
  std::size_t model = 0;  // which of those that the program has
  std::optional<std::string> help;
};
/// `models`: those that the program has.
serve_line parse_serve(int argc, char** argv, std::vector<generator> const& models);

}  // namespace mtf::tools
