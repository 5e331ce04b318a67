#pragma once
// From text to tokens and back.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mtf/core/error.hpp>

namespace mtf {

/// What a tokenizer does with the names of special tokens in a text, such as "<|endoftext|>".
enum class special_tokens : std::uint8_t {
  matched,  // they are the tokens, as Hugging Face's library has it
  as_text   // they are letters, so that no text can forge one
};

/// From bytes of text to ids and back. Any bytes can be encoded, and `decode` gives them back, but for what a tokenizer
/// normalizes, white space that an added token takes, and what it has no token for. It remembers words, so each thread
/// needs one of its own: `clone()`.
class tokenizer {
 public:
  tokenizer() = default;
  tokenizer(tokenizer const&) = delete;
  tokenizer& operator=(tokenizer const&) = delete;
  virtual ~tokenizer() = default;

  /// Appends the ids of a text.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& to) = 0;
  /// The ids of a text.
  [[nodiscard]] std::vector<std::uint32_t> encode(std::string_view text) {
    std::vector<std::uint32_t> ids;
    encode(text, ids);
    return ids;
  }
  /// The text of ids. One that is none of the vocabulary is a user_error.
  [[nodiscard]] virtual std::string decode(std::span<std::uint32_t const> ids) const = 0;
  /// How many ids there are, 0 to one less.
  [[nodiscard]] virtual std::uint32_t vocabulary() const = 0;
  /// The id of the token with this name, if there is one.
  [[nodiscard]] virtual std::optional<std::uint32_t> id_of(std::string_view name) const = 0;
  /// Whether a token is no text, but says something of it: its end, whose turn it is.
  [[nodiscard]] virtual bool is_special(std::uint32_t id) const = 0;
  /// What stands between documents: the token that is usual for that, if there is one.
  [[nodiscard]] virtual std::optional<std::uint32_t> end_of_text() const {
    for (auto const* name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"})
      if (auto const id = id_of(name)) return id;
    return {};
  }
  /// What stands before every text that a model reads, where the file says it; `encode` does not add it.
  [[nodiscard]] virtual std::vector<std::uint32_t> before_text() const { return {}; }
  /// The same, for another thread; it shares the tables.
  [[nodiscard]] virtual std::unique_ptr<tokenizer> clone() const = 0;
  /// A place of the text, at `about` or behind it, where it can be broken: the parts' ids are the whole's. The text's
  /// size if none is known.
  [[nodiscard]] virtual std::size_t break_behind(std::string_view text, std::size_t about) const = 0;

 protected:
  [[noreturn]] static void no_such_id(std::uint32_t id, std::uint32_t vocabulary) {
    throw user_error("decode: there is no token " + std::to_string(id) + "; the vocabulary has the ids 0 to " +
                     std::to_string(vocabulary - 1) + ", and maybe not all of them");
  }
};

/// Bytes are the ids. The end of text is the byte 0, which no text has.
class byte_tokenizer final : public tokenizer {
 public:
  using tokenizer::encode;
  void encode(std::string_view text, std::vector<std::uint32_t>& to) override {
    for (char const c : text) to.push_back(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::string decode(std::span<std::uint32_t const> ids) const override {
    std::string text;
    for (auto const id : ids) {
      if (id > 255) no_such_id(id, 256);
      text += static_cast<char>(id);
    }
    return text;
  }
  [[nodiscard]] std::uint32_t vocabulary() const override { return 256; }
  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view) const override { return {}; }
  [[nodiscard]] bool is_special(std::uint32_t id) const override { return id == 0; }
  [[nodiscard]] std::optional<std::uint32_t> end_of_text() const override { return 0; }
  [[nodiscard]] std::unique_ptr<tokenizer> clone() const override { return std::make_unique<byte_tokenizer>(); }
  [[nodiscard]] std::size_t break_behind(std::string_view text, std::size_t about) const override {
    return about < text.size() ? about : text.size();
  }
};

}  // namespace mtf
