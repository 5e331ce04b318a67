#pragma once
// A vocabulary of the unigram model in Hugging Face's tokenizer.json, and a word's most likely tokens.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/core/file_text.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>
#include <mtf/detail/data/json_tables.hpp>
#include <mtf/detail/data/text_steps.hpp>

namespace mtf::detail {

/// What a tokenizer's threads share.
struct unigram_tables : json_tables {
  std::vector<double> scores;  // of each id
  std::uint32_t unknown = no_id;
  double unknown_score = 0;

  void add(std::string const& token, double score) {
    auto const id = static_cast<std::uint32_t>(scores.size());
    bytes.emplace_back(token);
    scores.push_back(score);
    ids[token] = id;  // of two that are alike the last counts
    std::uint64_t node = 0;
    for (char const c : token) node = next_.try_emplace(edge(node, c), next_.size() + 1).first->second;
    id_at_.resize(next_.size() + 1, no_id);
    id_at_[node] = id;
  }
  /// Calls f(length, id) for each token that the text begins with, short ones first.
  template <class F>
  void for_each_prefix(std::string_view text, F const& f) const {
    std::uint64_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      auto const found = next_.find(edge(node, text[i]));
      if (found == next_.end()) return;
      node = found->second;
      if (id_at_[node] != no_id) f(i + 1, id_at_[node]);
    }
  }

 private:
  static std::uint64_t edge(std::uint64_t node, char c) { return node << 8U | static_cast<unsigned char>(c); }
  std::unordered_map<std::uint64_t, std::uint64_t> next_;  // of a trie's nodes
  std::vector<std::uint32_t> id_at_{no_id};
};

/// A thread's memory for the best path through a word.
class unigram_path {
 public:
  /// Appends the ids of the tokens whose scores' sum is largest; of equal ones the first found is kept, as in Hugging
  /// Face's library. Unknown letters in a row are one piece: its bytes' tokens, or the unknown one.
  void add(unigram_tables const& t, std::string_view word, std::vector<std::uint32_t>& to) {
    ends_.assign(word.size() + 1, {});
    for (std::size_t at = 0; at < word.size();) {
      auto const letter = letter_size(word.substr(at));
      bool known = false;
      auto const reach = [&](std::size_t end, std::uint32_t id, double score) {
        auto& e = ends_[end];
        score += ends_[at].score;
        if (e.begin == none || score > e.score) e = {at, id, score};
      };
      t.for_each_prefix(word.substr(at), [&](std::size_t length, std::uint32_t id) {
        reach(at + length, id, t.scores[id]);
        known = known || length == letter;
      });
      if (!known) reach(at + letter, t.unknown, t.unknown_score);
      at += letter;
    }
    pieces_.clear();
    for (auto end = word.size(); end > 0; end = ends_[end].begin) {
      auto const begin = ends_[end].begin;
      bool const unknown = ends_[end].id == t.unknown;
      if (unknown && !pieces_.empty() && pieces_.back().unknown)
        pieces_.back().begin = begin;
      else
        pieces_.push_back({begin, end, unknown});
    }
    for (; !pieces_.empty(); pieces_.pop_back()) {  // found from the word's end on
      auto const& p = pieces_.back();
      auto const text = word.substr(p.begin, p.end - p.begin);
      if (auto const id = t.id_in_model(text); id != unigram_tables::no_id)
        to.push_back(id);
      else if (!t.add_fallback(text, to)) {
        if (t.unknown == unigram_tables::no_id)
          throw user_error(t.steps.path + ": it has no unknown token, which this text needs: \"" +
                           std::string(text.substr(0, 40)) + "\"");
        to.push_back(t.unknown);
      }
    }
  }

 private:
  static constexpr auto none = std::numeric_limits<std::size_t>::max();
  struct path_end {
    std::size_t begin = none;
    std::uint32_t id = 0;
    double score = 0;
  };
  struct piece {
    std::size_t begin, end;
    bool unknown;
  };
  std::vector<path_end> ends_;
  std::vector<piece> pieces_;
};

/// Whether a file is a tokenizer.json of such a model.
inline bool is_unigram(nlohmann::json const& j) {
  return j.is_object() && j.contains("model") && j["model"].is_object() && j["model"].contains("type") &&
         j["model"]["type"] == "Unigram";
}

inline unigram_tables unigram_tables_of(nlohmann::json const& j, std::string const& path) {
  unigram_tables t;
  t.steps.path = path;
  if (!is_unigram(j)) t.refuse("a tokenizer.json with a model of the type Unigram was expected");
  try {
    auto const of = [](nlohmann::json const& in, char const* name) {
      return in.contains(name) ? in[name] : nlohmann::json();
    };
    auto const& model = j["model"];
    read_normalizer(t.steps, of(j, "normalizer"));
    read_pre_tokenizer(t.steps, of(j, "pre_tokenizer"));
    if (t.steps.bytes) t.refuse("the pre-tokenizer ByteLevel is not read before a model of the type Unigram");
    auto const vocabulary = of(model, "vocab");
    if (!vocabulary.is_array() || vocabulary.empty() || vocabulary.size() > unigram_tables::most_ids)
      t.refuse("the vocabulary should be a list of tokens with their scores");
    double least = std::numeric_limits<double>::infinity();
    for (auto const& token : vocabulary) {
      if (!token.is_array() || token.size() != 2 || !token[0].is_string() || !token[1].is_number())
        t.refuse("token " + std::to_string(t.scores.size()) + " should be a text and its score, found " +
                 token.dump(-1, ' ', true).substr(0, 60));
      t.add(token[0].get<std::string>(), token[1].get<double>());
      least = std::min(least, t.scores.back());
    }
    t.unknown_score = least - 10;  // sentencepiece's
    if (auto const id = of(model, "unk_id"); !id.is_null()) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= t.scores.size())
        t.refuse("\"unk_id\" should be one of the vocabulary, found " + id.dump(-1, ' ', true).substr(0, 60));
      t.unknown = id.get<std::uint32_t>();
    }
    t.know_bytes(model.value("byte_fallback", false));
    t.read_added_tokens(of(j, "added_tokens"), t.scores.size());
    t.read_post_processor(of(j, "post_processor"));
  } catch (nlohmann::json::exception const& e) {
    t.refuse("it is no tokenizer.json: " + std::string(e.what()).substr(0, 200));
  }
  return t;
}
inline unigram_tables unigram_tables_from(std::string const& path) {
  return unigram_tables_of(strict_json(text_of_file(path, unigram_tables::most_bytes), path), path);
}

}  // namespace mtf::detail
