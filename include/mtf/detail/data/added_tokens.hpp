#pragma once
// Tokens that are looked for in a text before it is broken into words: a tokenizer.json's added tokens.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/detail/data/word_pattern.hpp>

namespace mtf::detail {

struct added_token {
  std::string text;
  std::uint32_t id = 0;
  bool special = false;
  bool single_word = false;                         // none where a letter is before or behind it
  bool takes_before = false, takes_behind = false;  // white space beside it is its own (lstrip, rstrip)
};

/// A list of them. Of those that begin at one place the longest is taken, as Hugging Face's library does.
class added_tokens {
 public:
  void add(added_token token) {
    begins_[static_cast<unsigned char>(token.text.front())] = true;
    auto& all = of_[static_cast<unsigned char>(token.text.front())];
    any_ = true;
    all.push_back(std::move(token));
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.text.size() > b.text.size(); });
  }

  /// Calls text(part, at its begin) and token(id) in order. With `no_specials` those that are special are letters.
  template <class Text, class Token>
  void for_each(std::string_view in, bool no_specials, Text const& text, Token const& token) const {
    std::size_t done = 0;
    for (std::size_t at = 0; any_ && at < in.size();) {
      if (!begins_[static_cast<unsigned char>(in[at])]) {
        ++at;
        continue;
      }
      auto const* const found = longest(in.substr(at), no_specials);
      if (found == nullptr) {
        ++at;
        continue;
      }
      auto begin = at, end = at + found->text.size();
      at = end;  // the next is looked for here, whatever becomes of this one
      if (found->single_word &&
          (matches(letters(), last_of(in.substr(0, begin))) || matches(letters(), first_of(in.substr(end)))))
        continue;
      if (found->takes_before) begin = std::max(space_begins(in.substr(0, begin)), done);
      if (found->takes_behind) end += space_ends(in.substr(end));
      if (begin >= end) continue;  // the white space that it is was the one's before it
      if (begin > done) text(in.substr(done, begin - done));
      token(found->id);
      done = end;  // (Of two that share white space each has it.)
    }
    if (done < in.size()) text(in.substr(done));
  }

 private:
  [[nodiscard]] added_token const* longest(std::string_view in, bool no_specials) const {
    for (auto const& token : of_[static_cast<unsigned char>(in.front())])
      if (in.starts_with(token.text) && !(no_specials && token.special)) return &token;
    return nullptr;
  }
  static std::string_view first_of(std::string_view text) {
    std::size_t end = 1;
    while (end < text.size() && end < 4 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) ++end;
    return text.substr(0, end);
  }
  static std::string_view last_of(std::string_view text) {
    std::size_t n = 1;
    while (n < text.size() && n < 4 && (static_cast<unsigned char>(text[text.size() - n]) & 0xc0U) == 0x80U) ++n;
    return text.substr(text.size() - std::min(n, text.size()));
  }
  /// Where the white space at a text's end begins, and where that at its begin ends.
  static std::size_t space_begins(std::string_view text) {
    while (!text.empty() && matches(white(), last_of(text))) text.remove_suffix(last_of(text).size());
    return text.size();
  }
  static std::size_t space_ends(std::string_view text) {
    auto const all = text.size();
    while (!text.empty() && matches(white(), first_of(text))) text.remove_prefix(first_of(text).size());
    return all - text.size();
  }
  static bool matches(word_pattern const& pattern, std::string_view character) {
    thread_local word_matcher matcher;
    bool found = false;
    matcher.for_each_piece(pattern, character, [&](std::string_view, bool is) { found = is; });
    return found;
  }
  static word_pattern const& white() {
    static word_pattern const pattern(R"(\s)", "white space");
    return pattern;
  }
  /// Letters, marks, digits, and what joins them: \w of Rust's regular expressions.
  static word_pattern const& letters() {
    static word_pattern const pattern(R"([\w\x{200c}\x{200d}])", "letters");
    return pattern;
  }

  std::array<std::vector<added_token>, 256> of_;  // by the first byte
  std::array<bool, 256> begins_{};                // whether there is one
  bool any_ = false;
};

}  // namespace mtf::detail
