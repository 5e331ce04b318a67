#pragma once
// Whole files of text.
#include <string>
#include <string_view>

#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/mapped_file.hpp>

namespace mtf {

/// The bytes of a file, of any size: nothing is read before it is looked at. What cannot be read is a user_error.
class text_file {
 public:
  explicit text_file(std::string const& path) : file_(detail::file::to_read(path)) {}
  /// All of it, as long as this stands.
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<char const*>(file_.bytes().data()), file_.bytes().size()};
  }

 private:
  detail::mapped_file file_;
};

/// Writes a text to a file under another name, which then gets this one. What cannot be written is a user_error.
inline void write_text_file(std::string const& path, std::string const& text) { detail::replace_by(path, text); }

}  // namespace mtf
