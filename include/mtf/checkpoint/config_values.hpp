#pragma once
// What a model's config file says, such as Hugging Face's config.json.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <mtf/checkpoint/part.hpp>

namespace mtf {

/// The values of a JSON file by their keys, those inside an object as "rope_scaling.factor"; lists and null are passed
/// over. (`config_from(path)` of config_file.hpp reads one.) A value that is of another kind than asked for is a
/// user_error that names it.
class config_values {
 public:
  /// Of no file: it has no values.
  config_values() = default;
  /// Of a file. `values`: as JSON has them, "12", "\"gelu_new\"".
  config_values(std::string path, std::map<std::string, std::string> values)
      : path_(std::move(path)), values_(std::move(values)) {}

  /// The file.
  [[nodiscard]] std::string const& path() const { return path_; }
  /// Whether it has this key, with a value that is kept.
  [[nodiscard]] bool contains(std::string const& key) const { return values_.contains(key); }
  /// A whole number from 0 to max_extent; false and true are 0 and 1. None: no such key.
  [[nodiscard]] MTF_CHECKPOINT_CODE std::optional<std::int64_t> number(std::string const& key) const;
  /// A number.
  [[nodiscard]] MTF_CHECKPOINT_CODE std::optional<double> real(std::string const& key) const;
  /// A text, without its quotes.
  [[nodiscard]] MTF_CHECKPOINT_CODE std::optional<std::string> text(std::string const& key) const;
  /// All that `number` would give.
  [[nodiscard]] MTF_CHECKPOINT_CODE std::map<std::string, std::int64_t> numbers() const;

 private:
  std::string path_;
  std::map<std::string, std::string> values_;
};

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/checkpoint/code/config_values.hpp>  // IWYU pragma: export
#endif
