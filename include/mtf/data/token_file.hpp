#pragma once
// Files of tokens, mapped into memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/data_file.hpp>
#include <mtf/detail/data/token_layout.hpp>

namespace mtf {

/// The tokens of a file, in documents, where they are in the file: nothing is read before it is asked for. Three kinds
/// of files, told apart by their first bytes: those that `token_writer` and the program prepare write
/// (docs/design/files.md, "Data"); llm.c's (magic 20240520, version 1), whose documents begin with GPT-2's end of text;
/// and any other whose name does not end in .bin, whose bytes are the tokens and which is one document. A file that is
/// changed while this stands is a user_error of whoever looks at it next.
class token_file {
 public:
  /// Opens and checks the file: its length, its header, the ends of its documents. A user_error says what is wrong, and
  /// what was expected.
  explicit token_file(std::string const& path) : file_(path) {
    file_.read([&] { layout_ = detail::layout_of_tokens(file_.bytes(), path); });
  }

  /// Its name, as it was given.
  [[nodiscard]] std::string const& path() const { return file_.path(); }
  /// Whether it is of the third kind: a text, whose bytes are the tokens.
  [[nodiscard]] bool plain_text() const { return layout_.token_bytes == 1; }
  /// How many tokens.
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(layout_.tokens); }
  /// How many documents.
  [[nodiscard]] std::int64_t documents() const { return static_cast<std::int64_t>(layout_.ends.size()); }
  /// The number of a document's first token; of the document behind the last one: `size()`.
  [[nodiscard]] std::int64_t begin_of(std::int64_t document) const {
    return document == 0 ? 0 : static_cast<std::int64_t>(layout_.ends[static_cast<std::size_t>(document - 1)]);
  }
  /// How many ids the vocabulary has, by the file's header. The writer said so; `check_below` checks it.
  [[nodiscard]] std::int64_t vocabulary() const { return layout_.vocabulary; }
  /// The token between documents, if there is one. It stands in the file.
  [[nodiscard]] std::optional<std::int32_t> end_of_text() const {
    if (!layout_.end_of_text) return {};
    return static_cast<std::int32_t>(*layout_.end_of_text);
  }

  /// Tokens from number `first` on, as many as `to` has room for. All must exist.
  void read(std::int64_t first, std::span<std::int32_t> to) const {
    with_tokens([&](auto const* tokens) {
      std::transform(tokens + first, tokens + first + static_cast<std::ptrdiff_t>(to.size()), to.begin(),
                     [](auto id) { return static_cast<std::int32_t>(id); });
    });
  }
  /// Reads all tokens once: one at or above `vocabulary` is a user_error that says where the first one is.
  void check_below(std::int64_t vocabulary) const {
    with_tokens([&](auto const* tokens) {
      for (std::int64_t first = 0; first < size(); first += 4096) {
        auto const count = std::min<std::int64_t>(4096, size() - first);
        std::uint32_t largest = 0;
        for (std::int64_t i = first; i < first + count; ++i) largest = std::max<std::uint32_t>(largest, tokens[i]);
        if (largest < vocabulary) continue;
        auto const at = std::find_if(tokens + first, tokens + first + count, [&](auto id) { return id >= vocabulary; });
        throw user_error(path() + ": token " + std::to_string(at - tokens) + " is " + std::to_string(*at) +
                         ", but the vocabulary has " + std::to_string(vocabulary) + " ids, 0 to " +
                         std::to_string(vocabulary - 1) +
                         ": prepare the file with the model's tokenizer, or give the model the file's vocabulary");
      }
    });
  }
  /// A fingerprint, which hardly any other file has: of the lengths, and of at most 4096 tokens, evenly spread.
  [[nodiscard]] std::uint64_t fingerprint() const {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    auto const add = [&](std::uint64_t x) { hash = (hash ^ x ^ (x >> 32U)) * 0x100000001b3ULL; };
    add(layout_.tokens);
    add(layout_.ends.size());
    add(layout_.vocabulary);
    with_tokens([&](auto const* tokens) {
      auto const step = std::max<std::int64_t>(1, size() / 4096);
      for (std::int64_t i = 0; i < size(); i += step) add(tokens[i]);
    });
    return hash ^ (hash >> 29U);
  }

 private:
  template <class F>
  void with_tokens(F const& f) const {
    auto const* first = file_.bytes().data() + layout_.first;
    file_.read([&] {
      if (layout_.token_bytes == 1)
        f(reinterpret_cast<std::uint8_t const*>(first));
      else if (layout_.token_bytes == 2)
        f(reinterpret_cast<std::uint16_t const*>(first));
      else
        f(reinterpret_cast<std::uint32_t const*>(first));
    });
  }

  detail::data_file file_;
  detail::token_layout layout_;
};

}  // namespace mtf
