#pragma once
// How many texts are written at once, on the command lines of programs that write.
#include <CLI/App.hpp>

#include <cstdint>
#include <limits>

#include "../command_line.hpp"

namespace mtf::tools {

/// --rows, --chunk.
inline void add_rows_and_chunk(CLI::App& app, std::int64_t& rows, std::int64_t& chunk) {
  add_number(app, "--rows", rows, std::int64_t{1}, std::int64_t{4096}, "texts that are written at once");
  add_number(app, "--chunk", chunk, std::int64_t{1}, std::int64_t{std::numeric_limits<std::int32_t>::max()},
             "tokens of a prompt that are read at once");
}

}  // namespace mtf::tools
