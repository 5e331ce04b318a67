#pragma once
// A BPE vocabulary of one's own. Needs PCRE2 and nlohmann-json.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/detail/data/byte_letters.hpp>
#include <mtf/detail/data/word_pattern.hpp>

namespace mtf {

/// Trains byte-level BPE with GPT-2's pattern: `add` texts, then `train`. The vocabulary is "<|endoftext|>", the 256
/// bytes, and the merges: each of the pair of tokens that is next to each other most often by then, of equal ones that
/// of the lowest ids. So it follows from the texts alone, and is the one that Hugging Face's trainer finds.
class bpe_trainer {
 public:
  /// Counts the words of a text. Several trainers may count parts of it, if it is broken where `break_behind` says.
  void add(std::string_view text) {
    matcher_.for_each_word(pattern_, text, [&](std::string_view word) { ++words_[std::string(word)]; });
  }
  /// Adds what another one has counted.
  void add(bpe_trainer const& other) {
    for (auto const& [word, count] : other.words_) words_[word] += count;
  }

  /// A place of the text, at `about` or behind it, where a word ends; else the text's size.
  [[nodiscard]] static std::size_t break_behind(std::string_view text, std::size_t about) {
    return detail::line_end_behind_letter(text, about);
  }
  /// The tokenizer.json of a vocabulary of this size, or of a smaller one if all words are tokens before. Less than 257
  /// is a user_error.
  [[nodiscard]] std::string train(std::uint32_t vocabulary) const {
    if (vocabulary < 257)
      throw user_error("a BPE vocabulary of " + std::to_string(vocabulary) +
                       " tokens: at least 257 are needed, the bytes and the end of text");
    std::vector<std::string> tokens{std::string(end_of_text)};
    for (auto const b : bytes_by_letter()) tokens.emplace_back(1, static_cast<char>(b));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> merges;
    state s(words_);
    while (tokens.size() < vocabulary) {
      auto const best = s.best();
      if (best.count < 1) break;
      auto const id = static_cast<std::uint32_t>(tokens.size());
      tokens.push_back(tokens[best.left] + tokens[best.right]);
      merges.emplace_back(best.left, best.right);
      s.merge(best.left, best.right, id);
    }
    return json_of(tokens, merges);
  }

 private:
  static constexpr std::string_view end_of_text = "<|endoftext|>";

  struct pair_count {
    std::int64_t count = 0;
    std::uint32_t left = 0, right = 0;
    /// Is it taken after o?
    bool operator<(pair_count const& o) const {
      return std::tie(count, o.left, o.right) < std::tie(o.count, left, right);
    }
  };
  struct word {
    std::vector<std::uint32_t> ids;
    std::int64_t count;
  };

  /// The words as tokens, and how often each pair is in them.
  class state {
   public:
    explicit state(std::unordered_map<std::string, std::int64_t> const& counted) {
      std::vector<std::uint32_t> id_of(256);
      std::uint32_t next = 1;
      for (auto const b : bytes_by_letter()) id_of[b] = next++;
      for (auto const& [text, count] : counted) {
        word w{{}, count};
        for (char const c : text) w.ids.push_back(id_of[static_cast<unsigned char>(c)]);
        words_.push_back(std::move(w));
      }
      for (std::size_t i = 0; i < words_.size(); ++i) count_pairs(i, 1);
      push_changed();
    }
    /// The pair to merge; its count is 0 when there is none.
    pair_count best() {
      while (!queue_.empty()) {
        auto top = queue_.top();
        queue_.pop();
        auto const now = pairs_[key_of(top.left, top.right)].count;
        if (now == top.count) return top;
        top.count = now;  // it was counted before other merges
        if (now > 0) queue_.push(top);
      }
      return {};
    }
    void merge(std::uint32_t left, std::uint32_t right, std::uint32_t id) {
      auto const where = std::move(pairs_[key_of(left, right)].words);
      for (auto const i : where) {
        auto& ids = words_[i].ids;
        bool found = false;
        for (std::size_t k = 0; k + 1 < ids.size() && !found; ++k) found = ids[k] == left && ids[k + 1] == right;
        if (!found) continue;
        count_pairs(i, -1);
        std::size_t to = 0;
        for (std::size_t k = 0; k < ids.size(); ++k) {
          bool const both = k + 1 < ids.size() && ids[k] == left && ids[k + 1] == right;
          ids[to++] = both ? id : ids[k];
          k += both ? 1 : 0;
        }
        ids.resize(to);
        count_pairs(i, 1);
      }
      pairs_.erase(key_of(left, right));
      push_changed();
    }

   private:
    struct pair_state {
      std::int64_t count = 0;
      bool queued = false;
      std::vector<std::size_t> words;  // that have it, or had it; some twice
    };
    static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
      return (std::uint64_t{left} << 32U) | right;
    }
    void count_pairs(std::size_t i, std::int64_t sign) {
      auto const& w = words_[i];
      for (std::size_t k = 0; k + 1 < w.ids.size(); ++k) {
        auto const key = key_of(w.ids[k], w.ids[k + 1]);
        auto& p = pairs_[key];
        p.count += sign * w.count;
        if (sign < 0) continue;
        if (p.words.empty() || p.words.back() != i) p.words.push_back(i);
        if (!p.queued) changed_.push_back(key);
        p.queued = true;
      }
    }
    /// Counts may have grown: the queue must not have less. What has shrunk is corrected when its turn comes.
    void push_changed() {
      for (auto const key : changed_) {
        auto& p = pairs_[key];
        p.queued = false;
        if (p.count > 0)
          queue_.push({p.count, static_cast<std::uint32_t>(key >> 32U), static_cast<std::uint32_t>(key)});
      }
      changed_.clear();
    }

    std::vector<word> words_;
    std::unordered_map<std::uint64_t, pair_state> pairs_;
    std::priority_queue<pair_count> queue_;
    std::vector<std::uint64_t> changed_;
  };

  /// The bytes in the order of the letters that spell them.
  static std::vector<std::uint32_t> bytes_by_letter() {
    std::vector<std::uint32_t> order(256);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(),
              [](auto a, auto b) { return detail::byte_letters()[a] < detail::byte_letters()[b]; });
    return order;
  }
  static std::string json_of(std::vector<std::string> const& tokens,
                             std::vector<std::pair<std::uint32_t, std::uint32_t>> const& merges) {
    using json = nlohmann::ordered_json;
    json vocabulary = json::object(), pairs = json::array();
    vocabulary[std::string(end_of_text)] = 0;
    for (std::size_t id = 1; id < tokens.size(); ++id) vocabulary[detail::spelled(tokens[id])] = id;
    for (auto const& [l, r] : merges) pairs.push_back({detail::spelled(tokens[l]), detail::spelled(tokens[r])});
    json const byte_level{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
    json const added{{"id", 0},         {"content", end_of_text}, {"single_word", false}, {"lstrip", false},
                     {"rstrip", false}, {"normalized", false},    {"special", true}};
    return json{{"version", "1.0"},
                {"truncation", nullptr},
                {"padding", nullptr},
                {"added_tokens", json::array({added})},
                {"normalizer", nullptr},
                {"pre_tokenizer", byte_level},
                {"post_processor", nullptr},
                {"decoder", byte_level},
                {"model",
                 {{"type", "BPE"},
                  {"dropout", nullptr},
                  {"unk_token", nullptr},
                  {"continuing_subword_prefix", nullptr},
                  {"end_of_word_suffix", nullptr},
                  {"fuse_unk", false},
                  {"byte_fallback", false},
                  {"ignore_merges", false},
                  {"vocab", vocabulary},
                  {"merges", pairs}}}}
               .dump(1) +
           "\n";
  }

  detail::word_pattern pattern_{detail::gpt2_pattern, "GPT-2"};
  detail::word_matcher matcher_;
  std::unordered_map<std::string, std::int64_t> words_;
};

}  // namespace mtf
