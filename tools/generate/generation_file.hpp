#pragma once
// What a directory of Hugging Face's says of how its model writes.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mtf::tools {

/// Of config.json and generation_config.json, the second before the first.
struct generation_file {
  std::vector<std::int32_t> ends;         // eos_token_id of both: any of them ends a text
  std::optional<std::int32_t> first;      // bos_token_id
  bool samples = false;                   // do_sample
  std::map<std::string, double> numbers;  // temperature, top_k, top_p, min_p, repetition_penalty, max_new_tokens
};

/// `directory`: has a config.json, and may have a generation_config.json. One that asks for what `generate` does not do
/// is a user_error, and so is a file that cannot be read. `defaults`: whether it may say how tokens are drawn.
generation_file generation_file_in(std::string const& directory, bool defaults);

/// The tokens that Hugging Face's library puts before a text, by the post_processor of a tokenizer.json; `path`: that
/// file or its directory. Of other files none.
std::vector<std::int32_t> tokens_before(std::string const& path);

}  // namespace mtf::tools
