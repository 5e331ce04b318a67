#pragma once
// What a tokenizer.json does with a text before its model sees words: added tokens, normalizers, pre-tokenizers.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/detail/data/added_tokens.hpp>
#include <mtf/detail/data/word_pattern.hpp>

namespace mtf::detail {

/// The text with each `from` as `to`.
inline std::string with_replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = 0;;) {
    auto const found = text.find(from, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) return out;
    out += to;
    at = found + from.size();
  }
}

/// The steps of a file, which a tokenizer's threads share.
struct text_steps {
  /// `to` before a text that is not empty; or in place of each `from`.
  struct normalizer {
    std::string from, to;
  };
  enum class matches : std::uint8_t { isolated, removed, joined, with_previous };
  enum class begins : std::uint8_t { always, first, never };
  /// Breaks words further by a pattern; or writes spaces as `space` and begins words with one.
  struct pre_tokenizer {
    std::optional<word_pattern> pattern;
    matches what = matches::isolated;
    bool inverted = false;
    std::string space;  // that a text begins with: always, or where it is the first
    begins where = begins::never;
    bool breaks = false;  // a word begins at each `space`
  };

  std::string path;
  std::array<added_tokens, 2> added;  // the second ones are looked for in what the first ones leave, normalized
  std::vector<normalizer> normalizers;
  std::vector<pre_tokenizer> pre_tokenizers;
  bool bytes = false;                   // a model of bytes, not of letters
  bool breaks_before_line_end = false;  // every word ends between a letter and the end of its line

  [[noreturn]] void refuse(std::string const& why) const { throw user_error(path + ": " + why); }

  [[nodiscard]] std::string normalized(std::string_view text) const {
    std::string out(text);
    for (auto const& n : normalizers)
      if (!n.from.empty())
        out = with_replaced(out, n.from, n.to);
      else if (!out.empty())
        out = n.to + out;
    return out;
  }
  void add_pattern(std::string_view pattern, matches what = matches::isolated, bool inverted = false) {
    // Of the patterns in use, in those of GPT-2 and its descendants no word has a letter and then the end of a line.
    bool const alone = pre_tokenizers.empty() || (pre_tokenizers.size() == 1 && digits_first_);
    breaks_before_line_end = alone && normalizers.empty() && what == matches::isolated && !inverted &&
                             (pattern == gpt2_pattern || pattern.ends_with(R"(\s*[\r\n]+|\s+(?!\S)|\s+)"));
    digits_first_ = pre_tokenizers.empty() && pattern == R"(\p{N})" && what == matches::isolated;
    pre_tokenizers.emplace_back();
    pre_tokenizers.back().pattern.emplace(pattern, path);
    pre_tokenizers.back().what = what;
    pre_tokenizers.back().inverted = inverted;
  }
  void add(added_token token, bool is_normalized) {
    if (is_normalized) token.text = normalized(token.text);
    auto const letter = static_cast<char>(token.text.back() | 0x20);
    if (token.text.find('\n') != std::string::npos || (token.takes_behind && letter >= 'a' && letter <= 'z'))
      breaks_before_line_end = false;
    added[is_normalized ? 1 : 0].add(std::move(token));
  }

 private:
  bool digits_first_ = false;
};

/// A tokenizer.json's normalizer.
inline void read_normalizer(text_steps& t, nlohmann::json const& j) {
  if (j.is_null()) return;
  auto const type = j.is_object() ? j.value("type", "none") : "none";
  if (type == "Sequence" && j.contains("normalizers") && j["normalizers"].is_array()) {
    for (auto const& part : j["normalizers"]) read_normalizer(t, part);
  } else if (type == "Prepend" && j.contains("prepend") && j["prepend"].is_string()) {
    t.normalizers.push_back({"", j["prepend"].get<std::string>()});
  } else if (type == "Replace" && j.contains("pattern") && j["pattern"].contains("String") &&
             j["pattern"]["String"].is_string() && !j["pattern"]["String"].get<std::string>().empty() &&
             j.contains("content") && j["content"].is_string()) {
    t.normalizers.push_back({j["pattern"]["String"].get<std::string>(), j["content"].get<std::string>()});
  } else {
    t.refuse("the normalizer " + j.dump(-1, ' ', true).substr(0, 200) +
             " is not read: Prepend, Replace of a string, and sequences of them are");
  }
}

/// Letters that mean something in a pattern, as themselves.
inline std::string as_pattern(std::string_view text) {
  std::string out;
  for (char const c : text) {
    if (std::string_view("\\[](){}*+?.|^$").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// A tokenizer.json's pre-tokenizer.
inline void read_pre_tokenizer(text_steps& t, nlohmann::json const& j) {
  if (j.is_null()) return;
  auto const type = j.is_object() ? j.value("type", "none") : "none";
  auto const behavior = type == "none" ? "" : j.value("behavior", "Isolated");
  auto const unknown = [&] {
    t.refuse("the pre-tokenizer " + j.dump(-1, ' ', true).substr(0, 200) +
             " is not read: ByteLevel, Digits, Metaspace, Punctuation and Split are, and sequences of them");
  };
  auto const matched = [&] {
    if (behavior == "Isolated") return text_steps::matches::isolated;
    if (behavior == "Removed") return text_steps::matches::removed;
    if (behavior == "Contiguous") return text_steps::matches::joined;
    if (behavior != "MergedWithPrevious") unknown();
    return text_steps::matches::with_previous;
  };
  if (type == "Sequence" && j.contains("pretokenizers") && j["pretokenizers"].is_array()) {
    for (auto const& part : j["pretokenizers"]) read_pre_tokenizer(t, part);
    return;
  }
  if (t.bytes) t.refuse("the pre-tokenizer " + type + " behind ByteLevel would see letters of bytes: it is not read");
  if (type == "ByteLevel") {
    t.bytes = true;
    if (j.value("add_prefix_space", true)) {
      t.pre_tokenizers.emplace_back();
      t.pre_tokenizers.back().space = " ";
      t.pre_tokenizers.back().where = text_steps::begins::always;
    }
    if (j.value("use_regex", true)) t.add_pattern(gpt2_pattern);
  } else if (type == "Metaspace") {
    t.pre_tokenizers.emplace_back();
    auto& step = t.pre_tokenizers.back();
    step.space = j.value("replacement", "\u2581");
    auto const scheme = j.value("prepend_scheme", j.value("add_prefix_space", true) ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never") unknown();
    step.where = scheme == "always"  ? text_steps::begins::always
                 : scheme == "first" ? text_steps::begins::first
                                     : text_steps::begins::never;
    step.breaks = j.value("split", true);
    if (step.space.empty() || step.space == " ") unknown();
    t.breaks_before_line_end = false;
  } else if (type == "Digits") {
    bool const each = j.value("individual_digits", false);
    t.add_pattern(each ? R"(\p{N})" : R"(\p{N}+)");
  } else if (type == "Punctuation") {
    t.add_pattern(R"([\p{P}!-\/:-@\[-`{-~])", matched());
  } else if (type == "Split" && j.contains("pattern") && j["pattern"].is_object()) {
    auto const& p = j["pattern"];
    bool const inverted = j.value("invert", false);
    if (p.contains("Regex") && p["Regex"].is_string())
      t.add_pattern(p["Regex"].get<std::string>(), matched(), inverted);
    else if (p.contains("String") && p["String"].is_string() && !p["String"].get<std::string>().empty())
      t.add_pattern(as_pattern(p["String"].get<std::string>()), matched(), inverted);
    else
      unknown();
  } else {
    unknown();
  }
}

/// A thread's way through the steps: from a text to words and added tokens.
class text_walk {
 public:
  explicit text_walk(text_steps const& steps) : steps_(&steps), matchers_(steps.pre_tokenizers.size()) {
    for (auto& m : matchers_) m = std::make_unique<word_matcher>();
  }
  /// Calls word(text) and token(id) in order. With `no_specials` the special tokens' names are letters.
  template <class Word, class Token>
  void operator()(std::string_view text, bool no_specials, Word const& word, Token const& token) {
    auto const* const begin = text.data();
    steps_->added[0].for_each(
        text, no_specials,
        [&](std::string_view part) {
          bool const first = part.data() == begin;
          std::string own;
          if (!steps_->normalizers.empty()) part = own = steps_->normalized(part);
          auto const* const part_begin = part.data();
          steps_->added[1].for_each(
              part, no_specials,
              [&](std::string_view piece) { step(piece, 0, first && piece.data() == part_begin, word); }, token);
        },
        token);
  }

 private:
  template <class Word>
  void step(std::string_view text, std::size_t n, bool first, Word const& word) {
    if (text.empty()) return;
    if (n == steps_->pre_tokenizers.size()) return word(text);
    auto const& now = steps_->pre_tokenizers[n];
    auto const next = [&](std::string_view piece) { step(piece, n + 1, first && piece.data() == text.data(), word); };
    if (!now.pattern) return spaced(now, text, n, first, word);
    auto& matcher = *matchers_[n];
    if (now.what == text_steps::matches::isolated) return matcher.for_each_word(*now.pattern, text, next);
    std::string_view held;  // pieces that may be longer
    bool held_is_match = false;
    matcher.for_each_piece(*now.pattern, text, [&](std::string_view piece, bool is_match) {
      is_match = is_match != now.inverted;
      if (now.what == text_steps::matches::removed) {
        if (!is_match) next(piece);
        return;
      }
      bool const joins =
          now.what == text_steps::matches::joined ? is_match == held_is_match : is_match && !held_is_match;
      if (!held.empty() && joins) {
        held = {held.data(), held.size() + piece.size()};
      } else {
        next(held);
        held = piece;
      }
      held_is_match = is_match;
    });
    next(held);
  }
  /// The text with its spaces as the step has them, and one before it; words begin with it.
  template <class Word>
  void spaced(text_steps::pre_tokenizer const& now, std::string_view text, std::size_t n, bool first,
              Word const& word) {
    auto all = with_replaced(text, " ", now.space);
    if (!all.starts_with(now.space) &&
        (now.where == text_steps::begins::always || (now.where == text_steps::begins::first && first)))
      all = now.space + all;
    if (!now.breaks) return step(all, n + 1, first, word);
    for (std::size_t at = 0; at < all.size();) {
      auto const end =
          std::min(all.find(now.space, at == 0 && !all.starts_with(now.space) ? 0 : at + now.space.size()), all.size());
      step(std::string_view(all).substr(at, end - at), n + 1, first && at == 0, word);
      at = end;
    }
  }

  text_steps const* steps_;
  std::vector<std::unique_ptr<word_matcher>> matchers_;  // one for each, as one is used inside another
};

}  // namespace mtf::detail
