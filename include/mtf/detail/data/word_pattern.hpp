#pragma once
// How a text is broken into words before they are tokenized: a regular expression, by PCRE2.
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>

#include <mtf/core/error.hpp>

namespace mtf::detail {

/// GPT-2's.
inline constexpr std::string_view gpt2_pattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Unicode's White_Space, which is what \s means to the field's tokenizers; PCRE2's has U+180E besides.
inline constexpr std::string_view white_space =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// The pattern with \s and \S spelled out.
inline std::string with_white_space(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      char const next = pattern[++i];
      if (next == 's')
        out += in_class ? std::string(white_space) : "[" + std::string(white_space) + "]";
      else if (next == 'S' && !in_class)
        out += "[^" + std::string(white_space) + "]";
      else
        out += {'\\', next};
      continue;
    }
    if (pattern[i] == '[') in_class = true;
    if (pattern[i] == ']') in_class = false;
    out += pattern[i];
  }
  return out;
}

/// The first end of a line behind a letter, at `about` or behind it; else the text's size. There a word of GPT-2's
/// pattern, and of those made after it, ends whatever follows.
inline std::size_t line_end_behind_letter(std::string_view text, std::size_t about) {
  for (auto at = text.find('\n', about); at != std::string_view::npos; at = text.find('\n', at + 1))
    if (at > 0 && ((text[at - 1] >= 'a' && text[at - 1] <= 'z') || (text[at - 1] >= 'A' && text[at - 1] <= 'Z')))
      return at;
  return text.size();
}

struct pcre2_deleter {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};
template <class T>
using pcre2_ptr = std::unique_ptr<T, pcre2_deleter>;

inline std::string pcre2_message(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<char const*>(text.data());
}

/// A compiled pattern, which threads share.
class word_pattern {
 public:
  /// `what` names it in errors: one that PCRE2 does not take is a user_error.
  word_pattern(std::string_view pattern, std::string const& what) {
    auto const spelled = with_white_space(pattern);
    int error = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, nullptr));
    if (code_ == nullptr)
      throw user_error(what + ": the pattern cannot be compiled: " + pcre2_message(error) + ", at \"" +
                       spelled.substr(at, 40) + "\"");
    jit_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
  }
  [[nodiscard]] pcre2_code const* code() const { return code_.get(); }
  [[nodiscard]] bool jit() const { return jit_; }

 private:
  pcre2_ptr<pcre2_code> code_;
  bool jit_ = false;
};

/// A thread's memory for matching.
class word_matcher {
 public:
  word_matcher()
      : match_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(32768, 1 << 22, nullptr)) {
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  }
  /// Calls word(text) for each match, and for what is between matches, in order.
  template <class F>
  void for_each_word(word_pattern const& pattern, std::string_view text, F const& word) {
    auto const* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    auto const* found = pcre2_get_ovector_pointer(match_.get());
    for (std::size_t done = 0, from = 0; done < text.size();) {
      // Without the checks of pcre2_match where it is compiled: of UTF-8, all of the text each time.
      int const n = pattern.jit()
                        ? pcre2_jit_match(pattern.code(), subject, text.size(), from, 0, match_.get(), context_.get())
                        : pcre2_match(pattern.code(), subject, text.size(), from, 0, match_.get(), context_.get());
      if (n < 0 && n != PCRE2_ERROR_NOMATCH)
        throw user_error("the tokenizer's pattern fails on this text: " + pcre2_message(n));
      auto const begin = n < 0 ? text.size() : found[0], end = n < 0 ? text.size() : found[1];
      if (n >= 0 && end <= begin) {  // an empty match says nothing
        if (++from >= text.size()) from = text.size();
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0U) == 0x80U) ++from;
        if (from < text.size()) continue;
        word(text.substr(done));
        return;
      }
      if (begin > done) word(text.substr(done, begin - done));
      if (end > begin) word(text.substr(begin, end - begin));
      done = from = end;
    }
  }

 private:
  pcre2_ptr<pcre2_match_data> match_;
  pcre2_ptr<pcre2_match_context> context_;
  pcre2_ptr<pcre2_jit_stack> stack_;
};

}  // namespace mtf::detail
