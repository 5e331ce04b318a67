#pragma once
// A model of llama.cpp's as a directory of Hugging Face's.
#include <cstdint>
#include <string>
#include <vector>

#include "gguf_file.hpp"

namespace mtf::tools {

/// A tensor as Hugging Face's library has it.
struct converted_tensor {
  std::string name;
  std::vector<std::uint64_t> shape;  // outermost first
  gguf_tensor const* from = nullptr;
  bool transposed = false;
  std::uint64_t heads = 0;  // whose rows lie in pairs, where transformers has halves; 0: as they are
};

/// All of the model's, in the file's order. One that is not known, or a model that is not: a user_error.
std::vector<converted_tensor> converted_tensors(gguf_file const& file);
/// Its elements as they are to be.
std::vector<float> converted_elements(converted_tensor const& tensor, gguf_file const& file);

/// config.json, generation_config.json, tokenizer.json.
std::string config_of(gguf_file const& file);
std::string generation_config_of(gguf_file const& file);
std::string tokenizer_of(gguf_file const& file);

}  // namespace mtf::tools
