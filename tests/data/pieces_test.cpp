// The pieces in which `prepare` reads texts: wherever they end, documents are the same, and so are the words of GPT-2's
// pattern.
// links: tokenizers
// with: tools/prepare/sources.cpp
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/detail/data/word_pattern.hpp>

#include "../tools/prepare/sources.hpp"

namespace {

/// Calls f(text) for all texts of up to `most` of these parts.
template <class F>
void for_each_text(std::vector<std::string> const& parts, std::size_t most, F const& f, std::string const& begin = {}) {
  f(begin);
  if (most == 0) return;
  for (auto const& part : parts) for_each_text(parts, most - 1, f, begin + part);
}

/// The documents between separators.
std::vector<std::string> documents_of(std::string_view text, std::string_view separator) {
  std::vector<std::string> all;
  for (;;) {
    auto const end = std::min(text.find(separator), text.size());
    all.emplace_back(text.substr(0, end));
    if (end == text.size()) return all;
    text.remove_prefix(end + separator.size());
  }
}
/// The same of the pieces of about so many bytes.
std::vector<std::string> documents_of_pieces(std::string const& text, std::string const& separator, std::size_t size) {
  prepare::source_options options;
  options.separator = separator;
  prepare::source const from{"text", false, text};
  std::vector<std::string> all(1);
  for (std::size_t at = 0; at < text.size();) {
    auto const p = prepare::next_piece(
        from, at, size, options, [](std::string_view of, std::size_t about) { return std::min(about, of.size()); });
    all.back() += p.bytes;
    if (p.ends_document) all.emplace_back();
  }
  return all;
}

TEST_CASE("a separator is found wherever pieces end") {
  int texts = 0, wrong = 0;
  for (std::string const separator : {"|", "<>", "<|>"})
    for_each_text({"a", "<", "|", ">", separator}, 5, [&](std::string const& text) {
      auto wanted = documents_of(text, separator);
      for (std::size_t size = 1; size <= text.size() + 1; ++size) {
        ++texts;
        auto found = documents_of_pieces(text, separator, size);
        // One without text at the end is none.
        for (auto* all : {&wanted, &found})
          while (!all->empty() && all->back().empty()) all->pop_back();
        wrong += found == wanted ? 0 : 1;
      }
    });
  CHECK(texts > 10'000);
  CHECK(wrong == 0);
}

TEST_CASE("a line's end is a place to break at only behind a letter, where words of any pattern end") {
  std::string_view const patterns[] = {
      mtf::detail::gpt2_pattern,
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
  mtf::detail::word_matcher matcher;
  int breaks = 0, wrong = 0;
  for (auto const pattern : patterns) {
    mtf::detail::word_pattern const words(pattern, "the pattern");
    for_each_text({"a", "1", ".", " ", "\n", "'"}, 6, [&](std::string const& text) {
      std::vector<std::string> whole, parts;
      matcher.for_each_word(words, text, [&](std::string_view word) { whole.emplace_back(word); });
      std::size_t last = 0;
      for (std::size_t about = 0; about < text.size(); ++about) {
        auto const end = mtf::detail::line_end_behind_letter(text, about);
        if (end == text.size() || end == last) continue;
        last = end;
        ++breaks;
        parts.clear();
        for (auto const part : {std::string_view(text).substr(0, end), std::string_view(text).substr(end)})
          matcher.for_each_word(words, part, [&](std::string_view word) { parts.emplace_back(word); });
        wrong += parts == whole ? 0 : 1;
      }
    });
  }
  CHECK(breaks > 10'000);
  CHECK(wrong == 0);
}

}  // namespace
