#pragma once
// The unigram model of a tokenizer.json. Needs PCRE2 and nlohmann-json.
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
#include <mtf/detail/data/text_steps.hpp>
#include <mtf/detail/data/unigram_tables.hpp>

namespace mtf {

/// Gives the ids that Hugging Face's library gives for the same file (`add_special_tokens=False`): of all ways to make
/// a word of tokens the most likely (Kudo 2018). A letter without a token is its bytes' tokens if there are such, else
/// the unknown token.
class unigram_tokenizer final : public tokenizer {
 public:
  using tokenizer::encode;
  /// `path`: a tokenizer.json. What is no unigram model, or has steps that are not read, is a user_error that says what
  /// was expected.
  explicit unigram_tokenizer(std::string const& path, special_tokens special = special_tokens::matched)
      : unigram_tokenizer(std::make_shared<detail::unigram_tables const>(detail::unigram_tables_from(path)), special) {}

  /// Of a tokenizer.json that was read; `name`: what errors call it.
  unigram_tokenizer(nlohmann::json const& json, std::string const& name,
                    special_tokens special = special_tokens::matched)
      : unigram_tokenizer(std::make_shared<detail::unigram_tables const>(detail::unigram_tables_of(json, name)),
                          special) {}

  void encode(std::string_view text, std::vector<std::uint32_t>& to) override {
    walk_(
        text, special_ == special_tokens::as_text, [&](std::string_view word) { path_.add(*tables_, word, to); },
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
    return std::unique_ptr<tokenizer>(new unigram_tokenizer(tables_, special_));
  }
  /// Nowhere: a word may go on behind any letter.
  [[nodiscard]] std::size_t break_behind(std::string_view text, std::size_t) const override { return text.size(); }

 private:
  unigram_tokenizer(std::shared_ptr<detail::unigram_tables const> tables, special_tokens special)
      : tables_(std::move(tables)), special_(special), walk_(tables_->steps) {}

  std::shared_ptr<detail::unigram_tables const> tables_;
  special_tokens special_;
  detail::text_walk walk_;
  detail::unigram_path path_;
};

}  // namespace mtf
