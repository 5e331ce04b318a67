#pragma once
// BPE: the tokenizers of GPT-2 and of most models since. Needs PCRE2 and nlohmann-json.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <mtf/data/tokenizer.hpp>
#include <mtf/detail/data/bpe_merges.hpp>
#include <mtf/detail/data/bpe_tables.hpp>
#include <mtf/detail/data/text_steps.hpp>
#include <mtf/detail/data/word_pattern.hpp>

namespace mtf {

/// Gives the ids that Hugging Face's library gives for the same file (`add_special_tokens=False`). A text is broken
/// into words, by regular expressions most often; a word's letters are merged, the most usual pairs first (Sennrich et
/// al. 2016), and they are bytes where the file has it so (Radford et al. 2019). A letter without a token is its bytes'
/// tokens if there are such, else the unknown token if there is one, else nothing. Words that were met before are
/// looked up.
class bpe_tokenizer final : public tokenizer {
 public:
  using tokenizer::encode;
  /// `path`: a tokenizer.json, or a vocab.json that has its merges.txt beside it. What is no BPE, or has
  /// steps that are not read, is a user_error that says what was expected.
  explicit bpe_tokenizer(std::string const& path, special_tokens special = special_tokens::matched)
      : bpe_tokenizer(std::make_shared<detail::bpe_tables const>(detail::bpe_tables_from(path)), special) {}

  /// Of a tokenizer.json that was read; `name`: what errors call it.
  bpe_tokenizer(nlohmann::json const& json, std::string const& name, special_tokens special = special_tokens::matched)
      : bpe_tokenizer(std::make_shared<detail::bpe_tables const>(detail::bpe_tables_of(json, name)), special) {}

  void encode(std::string_view text, std::vector<std::uint32_t>& to) override {
    walk_(
        text, special_ == special_tokens::as_text, [&](std::string_view word) { encode_word(word, to); },
        [&](std::uint32_t id) { to.push_back(id); });
  }
  [[nodiscard]] std::string decode(std::span<std::uint32_t const> ids) const override {
    return tables_->decoded(ids, [&](std::uint32_t id) { no_such_id(id, vocabulary()); });
  }
  [[nodiscard]] std::uint32_t vocabulary() const override { return static_cast<std::uint32_t>(tables_->bytes.size()); }
  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view name) const override {
    return tables_->id_of(name);
  }
  [[nodiscard]] bool is_special(std::uint32_t id) const override { return tables_->specials.contains(id); }
  [[nodiscard]] std::vector<std::uint32_t> before_text() const override { return tables_->before; }
  [[nodiscard]] std::unique_ptr<tokenizer> clone() const override {
    return std::unique_ptr<tokenizer>(new bpe_tokenizer(tables_, special_));
  }
  [[nodiscard]] std::size_t break_behind(std::string_view text, std::size_t about) const override {
    return tables_->steps.breaks_before_line_end ? detail::line_end_behind_letter(text, about) : text.size();
  }

 private:
  bpe_tokenizer(std::shared_ptr<detail::bpe_tables const> tables, special_tokens special)
      : tables_(std::move(tables)), special_(special), walk_(tables_->steps) {}

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
      if (auto const whole = tables_->id_in_model(word); whole != detail::bpe_tables::no_id) {
        ids_.push_back(whole);
        return;
      }
    }
    tables_->letters_of(word, ids_);
    merger_.merge(tables_->merges, ids_);
  }

  std::shared_ptr<detail::bpe_tables const> tables_;
  special_tokens special_;
  detail::text_walk walk_;
  detail::word_cache cache_;
  detail::bpe_word merger_;
  std::vector<std::uint32_t> ids_;
};

}  // namespace mtf
