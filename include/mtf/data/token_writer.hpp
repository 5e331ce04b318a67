#pragma once
// Writes token files.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/data/token_layout.hpp>

namespace mtf {

/// Writes a file that `token_file` reads, of ids of two bytes if the vocabulary allows that, else of four. The file
/// gets its name when it is whole; if it never is, nothing is left of it. What cannot be written is a user_error.
class token_writer {
 public:
  /// `end_of_text`: written behind each document, if it is given.
  token_writer(std::string path, std::uint32_t vocabulary, std::optional<std::uint32_t> end_of_text)
      : path_(std::move(path)), file_(path_) {
    header_.token_bytes = vocabulary <= 0x10000 ? 2 : 4;
    header_.vocabulary = vocabulary;
    header_.end_of_text = end_of_text.value_or(detail::token_header::no_end);
  }
  token_writer(token_writer const&) = delete;
  token_writer& operator=(token_writer const&) = delete;
  ~token_writer() = default;

  /// Appends tokens to the document in progress.
  void add(std::span<std::uint32_t const> ids) {
    for (auto const id : ids)
      if (id >= header_.vocabulary)
        throw user_error(path_ + ": the id " + std::to_string(id) + " is not in a vocabulary of " +
                         std::to_string(header_.vocabulary));
    auto const at = buffer_.size();
    buffer_.resize(at + ids.size() * header_.token_bytes);
    if (header_.token_bytes == 4)
      std::copy(ids.begin(), ids.end(), reinterpret_cast<std::uint32_t*>(buffer_.data() + at));
    else
      std::transform(ids.begin(), ids.end(), reinterpret_cast<std::uint16_t*>(buffer_.data() + at),
                     [](auto id) { return static_cast<std::uint16_t>(id); });
    header_.tokens += ids.size();
    if (buffer_.size() >= std::size_t{1} << 20U) flush();
  }
  /// Ends the document in progress. One without tokens is none.
  void end_document() {
    if (header_.tokens == (ends_.empty() ? 0 : ends_.back())) return;
    if (header_.end_of_text != detail::token_header::no_end) {
      put(header_.end_of_text, header_.token_bytes);
      ++header_.tokens;
    }
    ends_.push_back(header_.tokens);
  }
  /// How many tokens it has by now.
  [[nodiscard]] std::uint64_t tokens() const { return header_.tokens; }
  /// How many documents.
  [[nodiscard]] std::uint64_t documents() const { return ends_.size(); }

  /// Completes the file, puts it on the disk, and gives it its name.
  void finish() {
    end_document();
    header_.documents = ends_.size();
    buffer_.resize((buffer_.size() + at_ + 7) / 8 * 8 - at_);
    for (auto const end : ends_) put(end, 8);
    flush();
    file_.write(0, &header_, sizeof header_);
    file_.finish();
  }

 private:
  /// The lowest bytes of a number. (Files are little-endian, as the machine is: detail/data/token_layout.hpp.)
  void put(std::uint64_t x, std::size_t bytes) {
    auto const* from = reinterpret_cast<char const*>(&x);
    buffer_.insert(buffer_.end(), from, from + bytes);
  }
  void flush() {
    file_.write(at_, buffer_.data(), buffer_.size());
    at_ += buffer_.size();
    buffer_.clear();
  }

  std::string path_;
  detail::file_to_be file_;
  detail::token_header header_;
  std::vector<std::uint64_t> ends_;
  std::vector<char> buffer_;
  std::uint64_t at_ = sizeof(detail::token_header);  // where the buffer begins in the file
};

}  // namespace mtf
