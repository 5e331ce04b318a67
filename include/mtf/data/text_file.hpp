#pragma once
// Whole files of text.
#include <cstddef>
#include <string>
#include <string_view>

#include <mtf/detail/checkpoint/data_file.hpp>
#include <mtf/detail/checkpoint/file.hpp>

namespace mtf {

/// The bytes of a file, of any size: nothing is read before it is looked at. What cannot be read is a user_error.
class text_file {
 public:
  explicit text_file(std::string const& path) : file_(path) {}
  /// How many.
  [[nodiscard]] std::size_t size() const { return file_.size(); }
  /// Calls f(text) with all of them, which it looks at until it returns and not longer. A file that has been changed is
  /// a user_error.
  template <class F>
  void read(F const& f) const {
    file_.read([&] { f(std::string_view(reinterpret_cast<char const*>(file_.bytes().data()), file_.size())); });
  }

 private:
  detail::data_file file_;
};

/// Writes a text to a file under another name, which then gets this one. What cannot be written is a user_error.
inline void write_text_file(std::string const& path, std::string const& text) { detail::replace_by(path, text); }

}  // namespace mtf
