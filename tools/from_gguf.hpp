#pragma once
// A model of llama.cpp's as a directory of Hugging Face's.
#include <cstdint>
#include <span>
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
/// Reads their elements as they are to be, by ranges. Of one that is transposed it keeps some rows: others of them are
/// asked for next.
class converted_reader {
 public:
  explicit converted_reader(gguf_file const& file) : file_(&file) {}
  /// Those of a tensor of this file from `begin` on, row-major, as many as there is room for.
  void read(converted_tensor const& tensor, std::uint64_t begin, std::span<float> to);

 private:
  void keep_rows(converted_tensor const& tensor, std::uint64_t row);

  gguf_file const* file_;
  converted_tensor const* kept_ = nullptr;
  std::uint64_t first_ = 0;
  std::vector<float> rows_;
};
/// All elements of one.
std::vector<float> converted_elements(converted_tensor const& tensor, gguf_file const& file);

/// config.json, generation_config.json, tokenizer.json.
std::string config_of(gguf_file const& file);
std::string generation_config_of(gguf_file const& file);
std::string tokenizer_of(gguf_file const& file);

}  // namespace mtf::tools
