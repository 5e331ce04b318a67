#pragma once
// What a directory of Hugging Face's says of how its model writes.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model_source.hpp"

namespace mtf::tools {

/// Of config.json and generation_config.json, the second before the first.
struct generation_file {
  std::vector<std::int32_t> ends;         // eos_token_id of both: any of them ends a text
  std::optional<std::int32_t> first;      // bos_token_id
  bool samples = false;                   // do_sample
  std::map<std::string, double> numbers;  // temperature, top_k, top_p, min_p, repetition_penalty, max_new_tokens
};

/// One that asks for what `generate` does not do is a user_error, and so is a file that cannot be read. `defaults`:
/// whether it may say how tokens are drawn.
generation_file generation_file_of(model_source const& model, bool defaults);

}  // namespace mtf::tools
