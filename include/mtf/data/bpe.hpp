#pragma once
// Byte-level BPE: the tokenizers of GPT-2 and of most models since. Needs PCRE2 and nlohmann-json.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/data/tokenizer.hpp>
#include <mtf/detail/data/bpe_merges.hpp>
#include <mtf/detail/data/bpe_tables.hpp>
#include <mtf/detail/data/word_pattern.hpp>

namespace mtf {

/// Gives the ids that Hugging Face's library gives for the same file (`add_special_tokens=False`). A regular expression
/// breaks the text into words; a word's bytes are merged, the most usual pairs first (Sennrich et al. 2016, of bytes:
/// Radford et al. 2019). Words that were met before are looked up.
class bpe_tokenizer final : public tokenizer {
 public:
  using tokenizer::encode;
  /// `path`: a tokenizer.json, or a vocab.json that has its merges.txt beside it. What is not byte-level BPE is a
  /// user_error that says what was expected.
  explicit bpe_tokenizer(std::string const& path, special_tokens special = special_tokens::matched)
      : bpe_tokenizer(std::make_shared<detail::bpe_tables const>(detail::bpe_tables_from(path)), special) {}

  void encode(std::string_view text, std::vector<std::uint32_t>& to) override { encode_between(text, 0, to); }
  [[nodiscard]] std::string decode(std::span<std::uint32_t const> ids) const override {
    std::string text;
    for (auto const id : ids) {
      if (id >= vocabulary() || !tables_->bytes[id]) no_such_id(id, vocabulary());
      text += *tables_->bytes[id];
    }
    return text;
  }
  [[nodiscard]] std::uint32_t vocabulary() const override { return static_cast<std::uint32_t>(tables_->bytes.size()); }
  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view name) const override {
    auto const found = tables_->ids.find(std::string(name));
    if (found == tables_->ids.end()) return {};
    return found->second;
  }
  [[nodiscard]] std::unique_ptr<tokenizer> clone() const override {
    return std::unique_ptr<tokenizer>(new bpe_tokenizer(tables_, special_));
  }
  [[nodiscard]] std::size_t break_behind(std::string_view text, std::size_t about) const override {
    return tables_->breaks_before_line_end ? detail::line_end_behind_letter(text, about) : text.size();
  }

 private:
  bpe_tokenizer(std::shared_ptr<detail::bpe_tables const> tables, special_tokens special)
      : tables_(std::move(tables)), special_(special) {}

  /// Between the added tokens of this and the later lists.
  void encode_between(std::string_view text, std::size_t list, std::vector<std::uint32_t>& to) {
    if (list == tables_->added.size()) {
      encode_words(text, to);
      return;
    }
    auto const& all = tables_->added[list];
    std::size_t done = 0;
    if (!all.empty()) {
      for (std::size_t at = 0; at < text.size(); ++at) {
        for (auto const& token : all) {
          if (text[at] != token.text.front() || (token.special && special_ == special_tokens::as_text) ||
              !text.substr(at).starts_with(token.text))
            continue;
          encode_between(text.substr(done, at - done), list + 1, to);
          to.push_back(token.id);
          done = at + token.text.size();
          at = done - 1;
          break;
        }
      }
    }
    encode_between(text.substr(done), list + 1, to);
  }
  void encode_words(std::string_view text, std::vector<std::uint32_t>& to) {
    if (text.empty()) return;
    if (tables_->space_before && text.front() != ' ') {
      auto const spaced = " " + std::string(text);
      encode_word_of(spaced, 0, to);
    } else {
      encode_word_of(text, 0, to);
    }
  }
  /// A word of the pattern before `pattern`: broken by this one and the later ones, then merged.
  void encode_word_of(std::string_view text, std::size_t pattern, std::vector<std::uint32_t>& to) {
    auto const& patterns = tables_->patterns;
    if (pattern >= patterns.size())
      encode_word(text, to);
    else if (pattern + 1 == patterns.size())
      matcher(pattern).for_each_word(patterns[pattern], text, [&](std::string_view word) { encode_word(word, to); });
    else
      matcher(pattern).for_each_word(patterns[pattern], text,
                                     [&](std::string_view word) { encode_word_of(word, pattern + 1, to); });
  }
  detail::word_matcher& matcher(std::size_t pattern) {
    while (matchers_.size() <= pattern) matchers_.push_back(std::make_unique<detail::word_matcher>());
    return *matchers_[pattern];
  }
  void encode_word(std::string_view word, std::vector<std::uint32_t>& to) {
    if (!detail::word_cache::takes(word)) {
      merge(word);
      to.insert(to.end(), ids_.begin(), ids_.end());
      return;
    }
    auto& kept = cache_.at(word);
    if (kept.has(word)) {
      to.insert(to.end(), kept.ids.begin(), kept.ids.begin() + kept.count);
      return;
    }
    merge(word);
    kept.keep(word, ids_.data(), ids_.size());
    to.insert(to.end(), ids_.begin(), ids_.end());
  }
  void merge(std::string_view word) {
    ids_.clear();
    if (tables_->whole_words) {
      if (auto const whole = tables_->ids.find(std::string(word)); whole != tables_->ids.end()) {
        ids_.push_back(whole->second);
        return;
      }
    }
    for (char const c : word)
      if (auto const id = tables_->byte_ids[static_cast<unsigned char>(c)]; id != detail::bpe_tables::no_id)
        ids_.push_back(id);
    merger_.merge(tables_->merges, ids_);
  }

  std::shared_ptr<detail::bpe_tables const> tables_;
  special_tokens special_;
  std::vector<std::unique_ptr<detail::word_matcher>> matchers_;  // one for each pattern, as one is used inside another
  detail::word_cache cache_;
  detail::bpe_word merger_;
  std::vector<std::uint32_t> ids_;
};

}  // namespace mtf
