#pragma once
// A byte-level BPE vocabulary, in the files of GPT-2 and of Hugging Face.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>
#include <mtf/detail/data/bpe_merges.hpp>
#include <mtf/detail/data/byte_letters.hpp>
#include <mtf/detail/data/word_pattern.hpp>

namespace mtf::detail {

/// What a tokenizer's threads share.
struct bpe_tables {
  static constexpr std::uint32_t most_ids = 1U << 24U, no_id = ~0U;
  static constexpr std::uint64_t most_bytes = 256'000'000;  // of a file

  /// A token that is looked for in the text before words are.
  struct added_token {
    std::string text;
    std::uint32_t id = 0;
    bool special = false;
  };

  std::string path;
  std::vector<std::optional<std::string>> bytes;  // of each id
  std::unordered_map<std::string, std::uint32_t> ids;
  std::array<std::uint32_t, 256> byte_ids{};  // or no_id
  bpe_merges merges;
  std::vector<word_pattern> patterns;             // each breaks the words of the one before
  std::array<std::vector<added_token>, 2> added;  // the second ones are looked for in what the first ones leave
  bool whole_words = false;                       // a word that is a token is not merged
  bool space_before = false;                      // as if a text began with a space
  bool breaks_before_line_end = false;            // every word ends between a letter and the end of its line

  [[noreturn]] void refuse(std::string const& why) const { throw user_error(path + ": " + why); }

  void add_token(std::uint32_t id, std::string token) {
    if (id >= most_ids) refuse("the id " + std::to_string(id) + " of a token is not below " + std::to_string(most_ids));
    if (id >= bytes.size()) bytes.resize(id + 1);
    if (bytes[id] && *bytes[id] != token) refuse("two tokens have the id " + std::to_string(id));
    bytes[id] = token;
    ids.emplace(std::move(token), id);
  }
  /// The model's vocabulary: an object of spelled tokens with their ids.
  void add_vocabulary(nlohmann::json const& vocabulary) {
    if (!vocabulary.is_object()) refuse("the vocabulary should be an object of tokens with their ids");
    for (auto const& [token, id] : vocabulary.items()) {
      if (!id.is_number_unsigned() || id.template get<std::uint64_t>() >= most_ids)
        refuse("the token \"" + token + "\" has the id " + id.dump() + "; a number from 0 to " +
               std::to_string(most_ids - 1) + " was expected");
      add_token(id.template get<std::uint32_t>(), unspelled(token).value_or(token));
    }
    // Vocabularies of models lack bytes that no text has: Hugging Face's library gives no id for them.
    std::size_t known = 0;
    for (unsigned b = 0; b < 256; ++b) {
      auto const found = ids.find(std::string(1, static_cast<char>(b)));
      byte_ids[b] = found == ids.end() ? no_id : found->second;
      known += found == ids.end() ? 0 : 1;
    }
    if (known < 64)
      refuse("the vocabulary has tokens for " + std::to_string(known) +
             " bytes of 256: only byte-level BPE is read, whose vocabulary has those that texts have");
  }
  /// "Ġth e", as the merge of this rank.
  void add_merge(std::string_view left, std::string_view right, std::size_t rank) {
    auto const l = unspelled(left), r = unspelled(right);
    auto const id = [&](std::string const& token) {
      auto const found = ids.find(token);
      if (found == ids.end())
        refuse("merge " + std::to_string(rank) + ", \"" + std::string(left) + " " + std::string(right) +
               "\": the vocabulary has no token \"" + spelled(token) + "\"");
      return found->second;
    };
    if (!l || !r)
      refuse("merge " + std::to_string(rank) + ", \"" + std::string(left) + " " + std::string(right) +
             "\", has letters that stand for no byte");
    merges.add(id(*l), id(*r), {static_cast<std::uint32_t>(rank), id(*l + *r)});
  }
  void add_merge(std::string_view line, std::size_t rank) {
    auto const space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
      refuse("merge " + std::to_string(rank) + " should be two tokens, found \"" + std::string(line.substr(0, 60)) +
             "\"");
    add_merge(line.substr(0, space), line.substr(space + 1), rank);
  }
  void add_pattern(std::string_view pattern) {
    patterns.emplace_back(pattern, path);
    // Of the patterns in use, in those of GPT-2 and its descendants no word has a letter and then the end of a line.
    breaks_before_line_end = patterns.size() == 1 && !space_before &&
                             (pattern == gpt2_pattern || pattern.ends_with(R"(\s*[\r\n]+|\s+(?!\S)|\s+)"));
  }
  void add_added(added_token token, bool normalized) {
    if (token.text.empty()) refuse("an added token is empty");
    if (token.text.find('\n') != std::string::npos) breaks_before_line_end = false;
    if (!ids.contains(token.text) || ids.at(token.text) != token.id) {
      // A token of the model may be spelled as an added one: then its bytes are what it stands for.
      if (token.id < bytes.size() && bytes[token.id])
        ids[token.text] = token.id, bytes[token.id] = token.text;
      else
        add_token(token.id, token.text);
    }
    auto& all = added[normalized ? 1 : 0];
    all.push_back(std::move(token));
    // Of those that begin at one place the longest is taken.
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.text.size() > b.text.size(); });
  }
};

/// The pre-tokenizer of a tokenizer.json.
inline void read_pre_tokenizer(bpe_tables& t, nlohmann::json const& j) {
  auto const type = j.is_object() ? j.value("type", "none") : "none";
  if (type == "Sequence" && j.contains("pretokenizers") && j["pretokenizers"].is_array()) {
    for (auto const& part : j["pretokenizers"]) read_pre_tokenizer(t, part);
  } else if (type == "ByteLevel") {
    bool const with_pattern = j.value("use_regex", true);
    t.space_before = j.value("add_prefix_space", true);
    if (t.space_before && !(with_pattern && t.patterns.empty()))
      t.refuse("\"add_prefix_space\" is read only where GPT-2's pattern alone breaks words");
    if (with_pattern) t.add_pattern(gpt2_pattern);
  } else if (type == "Split" && j.value("behavior", "") == "Isolated" && !j.value("invert", false) &&
             j.contains("pattern") && j["pattern"].contains("Regex") && j["pattern"]["Regex"].is_string()) {
    t.add_pattern(j["pattern"]["Regex"].get<std::string>());
  } else {
    t.refuse("the pre-tokenizer " + j.dump(-1, ' ', true).substr(0, 200) +
             " is not known: ByteLevel and isolated splits by a regular expression are, and sequences of them");
  }
}

/// Hugging Face's tokenizer.json.
inline void read_tokenizer_json(bpe_tables& t, nlohmann::json const& j) {
  auto const of = [&](char const* name) { return j.is_object() && j.contains(name) ? j[name] : nlohmann::json(); };
  auto const model = of("model");
  auto const in_model = [&](char const* name) { return model.contains(name) ? model[name] : nlohmann::json(); };
  if (!model.is_object() || model.value("type", "BPE") != "BPE")
    t.refuse("a model of the type BPE was expected; other models are not read (sentencepiece: give its .model file)");
  if (!of("normalizer").is_null()) t.refuse("it has a normalizer; only tokenizers without one are read");
  for (auto const* name : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"})
    if (auto const x = in_model(name); !x.is_null() && x != "")
      t.refuse(std::string("the model has \"") + name + "\": " + x.dump(-1, ' ', true) +
               "; only byte-level BPE without it is read");
  if (model.value("byte_fallback", false)) t.refuse("the model has \"byte_fallback\"; only byte-level BPE is read");
  t.whole_words = model.value("ignore_merges", false);
  t.add_vocabulary(in_model("vocab"));
  auto const merges = in_model("merges");
  if (!merges.is_array()) t.refuse("the model's \"merges\" should be a list");
  t.merges = bpe_merges(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    auto const& m = merges[rank];
    if (m.is_string())
      t.add_merge(m.get_ref<std::string const&>(), rank);
    else if (m.is_array() && m.size() == 2 && m[0].is_string() && m[1].is_string())
      t.add_merge(m[0].get_ref<std::string const&>(), m[1].get_ref<std::string const&>(), rank);
    else
      t.refuse("merge " + std::to_string(rank) + " should be two tokens, found " + m.dump(-1, ' ', true).substr(0, 60));
  }
  read_pre_tokenizer(t, of("pre_tokenizer"));
  for (auto const& a : of("added_tokens")) {
    if (!a.is_object() || !a.contains("content") || !a["content"].is_string() || !a.contains("id") ||
        !a["id"].is_number_unsigned() || a["id"].get<std::uint64_t>() >= bpe_tables::most_ids)
      t.refuse("an added token should have \"content\" and \"id\", found " + a.dump(-1, ' ', true).substr(0, 200));
    for (auto const* flag : {"single_word", "lstrip", "rstrip"})
      if (a.value(flag, false))
        t.refuse("the added token " + a["content"].dump(-1, ' ', true) + " has \"" + flag + "\", which is not read");
    bool const special = a.value("special", false);
    t.add_added({a["content"].get<std::string>(), a["id"].get<std::uint32_t>(), special},
                a.value("normalized", !special));
  }
}

/// A tokenizer.json; or a vocab.json, beside which merges.txt is, with GPT-2's pattern.
inline bpe_tables bpe_tables_from(std::string const& path) {
  bpe_tables t;
  t.path = path;
  auto const j = strict_json(text_of_file(path, bpe_tables::most_bytes), path);
  try {
    if (j.is_object() && j.contains("model")) {
      read_tokenizer_json(t, j);
      return t;
    }
    t.add_vocabulary(j);
  } catch (nlohmann::json::exception const& e) {
    t.refuse("it is no tokenizer.json: " + std::string(e.what()).substr(0, 200));
  }
  auto const slash = path.rfind('/');
  auto const merges_path = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + "merges.txt";
  auto const text = text_of_file(merges_path, bpe_tables::most_bytes);
  t.path = merges_path;
  t.merges = bpe_merges(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  std::size_t rank = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) t.add_merge(line, rank++);
    at = end + 1;
  }
  t.path = path;
  t.add_pattern(gpt2_pattern);
  if (auto const end = t.ids.find("<|endoftext|>"); end != t.ids.end())
    t.add_added({end->first, end->second, true}, false);
  return t;
}

}  // namespace mtf::detail
