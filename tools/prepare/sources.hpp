#pragma once
// What is prepared: documents of text files, of JSON lines, of directories.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mtf/data/text_file.hpp>

namespace prepare {

/// Which files, and how they hold documents.
struct source_options {
  std::vector<std::string> paths;  // files, and directories of files
  std::string separator;           // between documents of a text; empty: a text is one document
  std::string field = "text";      // of JSON lines
};

/// A file that is read, which stays where it is in memory; its bytes are to be looked at while `file` is read, if there
/// is one.
struct source {
  std::string path;
  bool json_lines = false;
  std::string_view bytes;
  mtf::text_file const* file = nullptr;
};

/// A part of a source: documents from first to last, or a part of one.
struct piece {
  source const* from = nullptr;
  std::string_view bytes;     // of the source, or of its own copy
  bool ends_document = true;  // of texts: else the next piece goes on with it
  std::size_t begin = 0;      // in the source
  std::shared_ptr<std::string const> own{};

  /// Copies the bytes: what happens to the file is then seen no more.
  void keep_own() {
    own = std::make_shared<std::string const>(bytes);
    bytes = *own;
  }
};

/// The files of all paths: those of directories by name, in all their directories; .jsonl and .ndjson are JSON lines. A
/// directory without files is a user_error.
std::vector<std::string> files_of(source_options const& options);
/// Whether the name is that of a file of JSON lines.
bool is_json_lines(std::string const& path);

/// Where a text may be broken without changing its tokens, at a place or behind it.
using break_function = std::function<std::size_t(std::string_view text, std::size_t about)>;

/// The next piece of a source of about `size` bytes, from `at` on; `at` is then behind it.
piece next_piece(source const& from, std::size_t& at, std::size_t size, source_options const& options,
                 break_function const& break_behind);

/// Calls f(text) for each document of a piece of JSON lines. A line that is no object with a text in this field is a
/// user_error with its number.
void for_each_json_document(piece const& p, std::string const& field, std::function<void(std::string_view)> const& f);

}  // namespace prepare
