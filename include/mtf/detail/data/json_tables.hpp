#pragma once
// What all models of a tokenizer.json have: tokens with their ids, and the steps before them.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/detail/data/added_tokens.hpp>
#include <mtf/detail/data/byte_letters.hpp>
#include <mtf/detail/data/text_steps.hpp>

namespace mtf::detail {

struct json_tables {
  static constexpr std::uint32_t most_ids = 1U << 24U, no_id = ~0U;
  static constexpr std::uint64_t most_bytes = 256'000'000;  // of a file

  text_steps steps;
  std::vector<std::optional<std::string>> bytes;         // that each id stands for
  std::unordered_map<std::string, std::uint32_t> ids;    // the model's tokens that words may be, by what they stand for
  std::unordered_map<std::string, std::uint32_t> names;  // and others: added ones, those whose letters are no bytes
  std::unordered_set<std::uint32_t> specials;            // added tokens that are no text
  bool byte_fallback = false;                            // a letter without a token is its bytes' tokens
  std::vector<std::uint32_t> fallback_ids;               // <0x00> and so on, or no_id
  std::vector<std::uint32_t> before;                     // of what stands before every text
  bool space_before = false;                             // texts were given one, which decoding takes away

  [[noreturn]] void refuse(std::string const& why) const { steps.refuse(why); }

  [[nodiscard]] std::uint32_t id_in_model(std::string_view token) const {
    auto const found = ids.find(std::string(token));
    return found == ids.end() ? no_id : found->second;
  }
  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view name) const {
    if (auto const found = names.find(std::string(name)); found != names.end()) return found->second;
    auto const id = id_in_model(name);
    return id == no_id ? std::nullopt : std::optional(id);
  }
  /// A token as the file writes it: behind ByteLevel in letters of bytes.
  [[nodiscard]] std::optional<std::uint32_t> id_as_written(std::string const& token) const {
    if (auto const found = names.find(token); found != names.end()) return found->second;
    auto const text = steps.bytes ? unspelled(token) : std::optional(token);
    auto const id = text ? id_in_model(*text) : no_id;
    return id == no_id ? std::nullopt : std::optional(id);
  }
  /// Appends the tokens of a letter's bytes, if there is one for each.
  bool add_fallback(std::string_view letter, std::vector<std::uint32_t>& to) const {
    if (!byte_fallback) return false;
    for (char const c : letter)
      if (fallback_ids[static_cast<unsigned char>(c)] == no_id) return false;
    for (char const c : letter) to.push_back(fallback_ids[static_cast<unsigned char>(c)]);
    return true;
  }

  /// `text`: what it stands for; or its name, if no word is that token.
  void add_token(std::uint32_t id, std::string text, bool may_be_word) {
    if (id >= most_ids) refuse("the id " + std::to_string(id) + " of a token is not below " + std::to_string(most_ids));
    if (id >= bytes.size()) bytes.resize(id + 1);
    if (bytes[id] && *bytes[id] != text) refuse("two tokens have the id " + std::to_string(id));
    bytes[id] = text;
    (may_be_word ? ids : names).emplace(std::move(text), id);
  }
  /// When the model's tokens are there: what they stand for, where their letters are not that text.
  void know_bytes(bool fallback) {
    byte_fallback = fallback;
    fallback_ids.assign(fallback ? 256 : 0, no_id);
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (std::size_t b = 0; b < fallback_ids.size(); ++b) {
      auto const id = id_in_model(std::string("<0x") + digits[b / 16] + digits[b % 16] + ">");
      fallback_ids[b] = id;
      if (id != no_id) bytes[id] = std::string(1, static_cast<char>(b));
    }
    auto const is_space = [&](std::string const& letters, bool before) {
      for (auto& token : bytes)
        if (token) token = with_replaced(*token, letters, " ");
      space_before = space_before || before;
    };
    bool prepended = false;
    for (auto const& n : steps.normalizers) {
      prepended = prepended || n.from.empty();
      if (n.from == " " && !n.to.empty()) is_space(n.to, prepended);
    }
    for (auto const& p : steps.pre_tokenizers)
      if (!p.pattern && !steps.bytes) is_space(p.space, p.where != text_steps::begins::never);
  }
  /// The added tokens of a tokenizer.json, whose model has so many tokens. Hugging Face's library numbers them itself,
  /// whatever the file says: where the two differ nobody knows which of them a model was trained with.
  void read_added_tokens(nlohmann::json const& list, std::size_t in_model) {
    std::size_t next = in_model;
    std::unordered_set<std::string> before;
    for (auto const& a : list) {
      if (!a.is_object() || !a.contains("content") || !a["content"].is_string() || !a.contains("id") ||
          !a["id"].is_number_unsigned() || a["id"].get<std::uint64_t>() >= most_ids)
        refuse("an added token should have \"content\" and \"id\", found " + a.dump(-1, ' ', true).substr(0, 200));
      auto const name = a["content"].get<std::string>();
      auto const id = a["id"].get<std::uint32_t>();
      if (name.empty()) refuse("an added token is empty");
      auto const told = "the added token " + a["content"].dump(-1, ' ', true);
      if (!before.insert(name).second) refuse(told + " is there twice: leave the one that is meant");
      if (auto const given = id_as_written(name).value_or(static_cast<std::uint32_t>(next)); id != given)
        refuse(told + " has the id " + std::to_string(id) + ", where Hugging Face's library gives it " +
               std::to_string(given) + ": write that one, or the token and its id into the vocabulary");
      if (id >= next) next = std::size_t{id} + 1;
      bool const special = a.value("special", false);
      add_added({name, id, special, a.value("single_word", false), a.value("lstrip", false), a.value("rstrip", false)},
                a.value("normalized", !special));
    }
  }
  /// The tokens that a template puts before a text.
  void read_post_processor(nlohmann::json const& j) {
    auto const type = j.is_object() ? j.value("type", "") : "";
    if (type == "Sequence")
      for (auto const& one : j.value("processors", nlohmann::json::array())) read_post_processor(one);
    if (type != "TemplateProcessing") return;
    auto const tokens = j.value("special_tokens", nlohmann::json::object());
    for (auto const& piece : j.value("single", nlohmann::json::array())) {
      if (!piece.is_object() || !piece.contains("SpecialToken")) return;
      auto const token = tokens.value(piece["SpecialToken"].value("id", ""), nlohmann::json::object());
      for (auto const& id : token.value("ids", nlohmann::json::array())) before.push_back(id.get<std::uint32_t>());
    }
  }
  void add_added(added_token token, bool normalized) {
    if (token.id >= bytes.size()) bytes.resize(token.id + 1);
    bytes[token.id] = token.text;  // one of the model too may be spelled otherwise there
    names[token.text] = token.id;
    if (token.special) specials.insert(token.id);
    steps.add(std::move(token), normalized);
  }

  /// The text of ids; no_such_id(id) of one that is none.
  template <class F>
  [[nodiscard]] std::string decoded(std::span<std::uint32_t const> of, F const& no_such_id) const {
    std::string text;
    for (auto const id : of) {
      if (id >= bytes.size() || !bytes[id]) no_such_id(id);
      text += *bytes[id];
    }
    if (space_before && text.starts_with(' ')) text.erase(0, 1);
    return text;
  }
};

/// How many bytes a letter of UTF-8 has that begins here; 1 if none does.
inline std::size_t letter_size(std::string_view text) {
  auto const lead = static_cast<unsigned char>(text.front());
  std::size_t const size = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
  if (size > text.size()) return 1;
  for (std::size_t i = 1; i < size; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) return 1;
  return size;
}

}  // namespace mtf::detail
