#pragma once
// How a text is broken into words before they are tokenized: a regular expression, by PCRE2.
#include <algorithm>
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
#include <mtf/detail/data/oniguruma.hpp>

namespace mtf::detail {

/// GPT-2's.
inline constexpr std::string_view gpt2_pattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

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
  void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
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
  /// In Oniguruma's syntax. `what` names it in errors: one that PCRE2 does not take is a user_error.
  word_pattern(std::string_view pattern, std::string const& what) {
    auto const spelled = oniguruma_to_pcre2::of(pattern, what);
    int error = 0;
    PCRE2_SIZE at = 0;
    pcre2_ptr<pcre2_compile_context> const context(pcre2_compile_context_create(nullptr));
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, context.get()));
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
  /// Calls word(text) for each match, and for what is between matches, in order. A match of nothing is a border, unless
  /// a match has just ended there.
  template <class F>
  void for_each_word(word_pattern const& pattern, std::string_view text, F const& word) {
    for_each_piece(pattern, text, [&](std::string_view piece, bool) { word(piece); });
  }
  /// The same with piece(text, whether it is a match).
  template <class F>
  void for_each_piece(word_pattern const& pattern, std::string_view text, F const& piece) {
    auto const* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    auto const* found = pcre2_get_ovector_pointer(match_.get());
    std::size_t done = 0;  // what words were made of
    for (std::size_t from = 0, last = text.size() + 1; done < text.size();) {
      // Without the checks of pcre2_match where it is compiled: of UTF-8, all of the text each time.
      int const n = pattern.jit()
                        ? pcre2_jit_match(pattern.code(), subject, text.size(), from, 0, match_.get(), context_.get())
                        : pcre2_match(pattern.code(), subject, text.size(), from, 0, match_.get(), context_.get());
      if (n < 0 && n != PCRE2_ERROR_NOMATCH)
        throw user_error("the tokenizer's pattern fails on this text: " + pcre2_message(n));
      if (n < 0) break;
      auto const begin = found[0], end = found[1];
      if (end > begin || begin != last) {
        if (begin > done) piece(text.substr(done, begin - done), false);
        if (end > begin) piece(text.substr(begin, end - begin), true);
        done = last = std::max<std::size_t>(end, done);
      }
      from = end;
      if (end <= begin) {  // of nothing: on behind the next character
        if (++from > text.size()) break;
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0U) == 0x80U) ++from;
      }
    }
    if (done < text.size()) piece(text.substr(done), false);
  }

 private:
  pcre2_ptr<pcre2_match_data> match_;
  pcre2_ptr<pcre2_match_context> context_;
  pcre2_ptr<pcre2_jit_stack> stack_;
};

}  // namespace mtf::detail
