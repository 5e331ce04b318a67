#pragma once
// Where a model is read from: a directory of Hugging Face's, or a GGUF file as if it were one.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mtf/checkpoint/array_source.hpp>
#include <mtf/checkpoint/config_values.hpp>
#include <mtf/data/tokenizer.hpp>

namespace mtf::tools {

struct gguf_model;

/// A directory; or a GGUF file of llama.cpp's, by its name's end, which has the texts and the arrays of the directory
/// that `convert` makes of it. Ranks that are threads may share one.
class model_source {
 public:
  /// Nothing is read but a GGUF file's header; one that cannot be is a user_error.
  explicit model_source(std::string path);

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] bool is_gguf() const { return gguf_ != nullptr; }
  /// What errors call a file of the directory.
  [[nodiscard]] std::string name_of(std::string const& file) const;
  /// The text of config.json, generation_config.json, tokenizer.json and so on; none: it is not there. What cannot be
  /// read is a user_error.
  [[nodiscard]] std::optional<std::string> text(std::string const& file) const;
  /// Of config.json, which must be there.
  [[nodiscard]] mtf::config_values config() const;
  /// The model's own, or one that mtf::load_tokenizer knows by its name, or a GGUF file's.
  [[nodiscard]] std::unique_ptr<mtf::tokenizer> tokenizer(std::string const& other = {}) const;
  /// A GGUF file's, for one rank that reads them by mtf::load; null: it reads the directory.
  [[nodiscard]] std::shared_ptr<mtf::array_source const> arrays() const;
  /// How a GGUF file keeps the i-th of these arrays, "Q4_1", and the file's size.
  [[nodiscard]] std::string type_of_array(std::size_t i) const;
  [[nodiscard]] std::uint64_t gguf_bytes() const;

 private:
  std::string path_;
  std::shared_ptr<gguf_model const> gguf_;
};

/// The tokens that stand before every text, as models take them.
std::vector<std::int32_t> ids_before(mtf::tokenizer const& words);

}  // namespace mtf::tools
