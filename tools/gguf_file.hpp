#pragma once
// GGUF, the files of llama.cpp: what they say of a model, and its tensors. (Versions 2 and 3 of what ggml describes.)
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mtf::tools {

/// A tensor in a file. `extents`: innermost first, as the file has them.
struct gguf_tensor {
  std::string name;
  std::vector<std::uint64_t> extents;
  std::uint32_t type = 0;
  std::string_view bytes;
  [[nodiscard]] std::uint64_t size() const;  // elements
};

/// A file's contents, of which the tensors' bytes stay where they are. Anything that is not whole, or no such file, is
/// a user_error that names it.
class gguf_file {
 public:
  gguf_file(std::string path, std::string_view bytes);

  using number = double;
  /// A value: a number, a text, a list of numbers or of texts.
  using value = std::variant<number, std::string, std::vector<number>, std::vector<std::string>>;

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::vector<gguf_tensor> const& tensors() const { return tensors_; }
  [[nodiscard]] gguf_tensor const* find(std::string const& name) const;
  /// One that must be there, of this kind.
  template <class T>
  [[nodiscard]] T const& get(std::string const& key) const {
    auto const* const found = find_value<T>(key);
    if (found == nullptr) lacks(key);
    return *found;
  }
  /// One that may be there; of another kind: a user_error.
  template <class T>
  [[nodiscard]] T const* find_value(std::string const& key) const {
    auto const found = values_.find(key);
    if (found == values_.end()) return nullptr;
    auto const* const is = std::get_if<T>(&found->second);
    if (is == nullptr) is_other(key);
    return is;
  }
  /// A whole number from 0 on.
  [[nodiscard]] std::int64_t count(std::string const& key) const;

 private:
  [[noreturn]] void lacks(std::string const& key) const;
  [[noreturn]] void is_other(std::string const& key) const;

  std::string path_;
  std::map<std::string, value> values_;
  std::vector<gguf_tensor> tensors_;
};

/// The elements of a tensor, widened to float; of a type that is not read, a user_error. Read are F32, F16, BF16, Q4_0,
/// Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K.
std::vector<float> elements_of(gguf_tensor const& tensor, std::string const& path);
/// Those from `begin` on, as many as there is room for.
void elements_of(gguf_tensor const& tensor, std::string const& path, std::uint64_t begin, std::span<float> to);

/// The bytes of so many elements of a type, if it is read.
std::optional<std::uint64_t> bytes_of(std::uint32_t type, std::uint64_t elements);
/// "Q4_1"; of a type that is not read its number.
std::string name_of_type(std::uint32_t type);

}  // namespace mtf::tools
