#pragma once
// A BPE vocabulary, of bytes or of letters, in the files of GPT-2 and of Hugging Face.
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

#include <mtf/core/file_text.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>
#include <mtf/detail/data/bpe_merges.hpp>
#include <mtf/detail/data/byte_letters.hpp>
#include <mtf/detail/data/json_tables.hpp>
#include <mtf/detail/data/text_steps.hpp>
#include <mtf/detail/data/word_pattern.hpp>

namespace mtf::detail {

/// What a tokenizer's threads share.
struct bpe_tables : json_tables {
  std::array<std::uint32_t, 256> byte_ids{};  // or no_id
  bool all_bytes = false;                     // each has an id
  bpe_merges merges;
  std::uint32_t unknown = no_id;  // stands for letters that have no token
  bool one_unknown = false;       // for a run of them
  bool whole_words = false;       // a word that is a token is not merged

  /// A word's letters as tokens, before they are merged. One that has none is its bytes', else the unknown one, else
  /// nothing; the unknown one stands behind bytes' tokens that follow it, as in Hugging Face's library.
  void letters_of(std::string_view word, std::vector<std::uint32_t>& to) const {
    if (all_bytes) {
      for (char const c : word) to.push_back(byte_ids[static_cast<unsigned char>(c)]);
      return;
    }
    bool pending = false;
    for (std::size_t at = 0; at < word.size();) {
      auto const letter = word.substr(at, steps.bytes ? 1 : letter_size(word.substr(at)));
      at += letter.size();
      auto const id = steps.bytes ? byte_ids[static_cast<unsigned char>(letter.front())] : id_in_model(letter);
      if (id != no_id) {
        if (std::exchange(pending, false)) to.push_back(unknown);
        to.push_back(id);
      } else if (!(byte_fallback && add_fallback(steps.bytes ? spelled(letter) : std::string(letter), to)) &&
                 unknown != no_id) {
        if (pending && !one_unknown) to.push_back(unknown);
        pending = true;
      }
    }
    if (pending) to.push_back(unknown);
  }
  /// The model's vocabulary: an object of spelled tokens with their ids.
  void add_vocabulary(nlohmann::json const& vocabulary) {
    if (!vocabulary.is_object()) refuse("the vocabulary should be an object of tokens with their ids");
    for (auto const& [token, id] : vocabulary.items()) {
      if (!id.is_number_unsigned() || id.template get<std::uint64_t>() >= most_ids)
        refuse("the token \"" + token + "\" has the id " + id.dump() + "; a number from 0 to " +
               std::to_string(most_ids - 1) + " was expected");
      auto const text = steps.bytes ? unspelled(token) : std::optional(token);
      add_token(id.template get<std::uint32_t>(), text.value_or(token), text.has_value());
    }
    if (!steps.bytes) return;
    // Vocabularies of models lack bytes that no text has: Hugging Face's library gives no id for them.
    std::size_t known = 0;
    for (unsigned b = 0; b < 256; ++b) {
      auto const found = ids.find(std::string(1, static_cast<char>(b)));
      byte_ids[b] = found == ids.end() ? no_id : found->second;
      known += found == ids.end() ? 0 : 1;
    }
    all_bytes = known == 256;
    if (known < 64)
      refuse("the vocabulary has tokens for " + std::to_string(known) +
             " bytes of 256: behind the pre-tokenizer ByteLevel it should have those that texts have");
  }
  /// "Ġth e", as the merge of this rank.
  void add_merge(std::string_view left, std::string_view right, std::size_t rank) {
    auto const letters = [&](std::string_view token) {
      return steps.bytes ? unspelled(token) : std::optional(std::string(token));
    };
    auto const l = letters(left), r = letters(right);
    auto const id = [&](std::string const& token) {
      auto const found = ids.find(token);
      if (found == ids.end())
        refuse("merge " + std::to_string(rank) + ", \"" + std::string(left) + " " + std::string(right) +
               "\": the vocabulary has no token \"" + (steps.bytes ? spelled(token) : token) + "\"");
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
};

/// Hugging Face's tokenizer.json.
inline void read_tokenizer_json(bpe_tables& t, nlohmann::json const& j) {
  auto const of = [&](char const* name) { return j.is_object() && j.contains(name) ? j[name] : nlohmann::json(); };
  auto const model = of("model");
  auto const in_model = [&](char const* name) { return model.contains(name) ? model[name] : nlohmann::json(); };
  if (!model.is_object() || model.value("type", "BPE") != "BPE")
    t.refuse("a model of the type BPE or Unigram was expected; others are not read");
  for (auto const* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    // NOLINTNEXTLINE(readability-container-size-empty): empty() of a JSON text is false
    if (auto const x = in_model(name); !x.is_null() && x != "" && x != 0)
      t.refuse(std::string("the model has \"") + name + "\": " + x.dump(-1, ' ', true) +
               "; only BPE without it is read");
  read_normalizer(t.steps, of("normalizer"));
  read_pre_tokenizer(t.steps, of("pre_tokenizer"));
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
  if (auto const x = in_model("unk_token"); x.is_string()) {
    auto const name = x.get<std::string>();
    t.unknown = t.id_as_written(name).value_or(bpe_tables::no_id);
    t.one_unknown = model.value("fuse_unk", false);
    if (t.unknown == bpe_tables::no_id)
      t.refuse("the vocabulary has no token \"" + name + R"(", which is its "unk_token")");
  }
  t.know_bytes(model.value("byte_fallback", false));
  t.read_added_tokens(of("added_tokens"), in_model("vocab").size());
  t.read_post_processor(of("post_processor"));
}

/// A tokenizer.json; or a vocab.json, beside which merges.txt is, with GPT-2's pattern.
inline bpe_tables bpe_tables_of(nlohmann::json const& j, std::string const& path) {
  bpe_tables t;
  t.steps.path = path;
  try {
    if (j.is_object() && j.contains("model")) {
      read_tokenizer_json(t, j);
      return t;
    }
    t.steps.bytes = true;
    t.add_vocabulary(j);
  } catch (nlohmann::json::exception const& e) {
    t.refuse("it is no tokenizer.json: " + std::string(e.what()).substr(0, 200));
  }
  auto const slash = path.rfind('/');
  auto const merges_path = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + "merges.txt";
  auto const text = text_of_file(merges_path, bpe_tables::most_bytes);
  t.steps.path = merges_path;
  t.merges = bpe_merges(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  std::size_t rank = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) t.add_merge(line, rank++);
    at = end + 1;
  }
  t.steps.path = path;
  t.steps.add_pattern(gpt2_pattern);
  if (auto const end = t.ids.find("<|endoftext|>"); end != t.ids.end())
    t.add_added({end->first, end->second, true, false, false, false}, false);
  return t;
}
inline bpe_tables bpe_tables_from(std::string const& path) {
  return bpe_tables_of(strict_json(text_of_file(path, bpe_tables::most_bytes), path), path);
}

}  // namespace mtf::detail
