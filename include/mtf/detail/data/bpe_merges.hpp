#pragma once
// Byte pair encoding of one word.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <queue>
#include <string_view>
#include <tuple>
#include <vector>

namespace mtf::detail {

/// The merges of a vocabulary: which pair of tokens becomes which, and which pair goes first.
class bpe_merges {
 public:
  static constexpr std::uint32_t none = 0xffffffff;
  struct merge {
    std::uint32_t rank = none, id = 0;
  };

  explicit bpe_merges(std::size_t count = 0) : slots_(std::bit_ceil(2 * count + 2)) {}
  /// The last of several of one pair counts.
  void add(std::uint32_t left, std::uint32_t right, merge m) {
    auto& s = slots_[slot_of(key_of(left, right))];
    s.key = key_of(left, right);
    s.value = m;
  }
  [[nodiscard]] merge find(std::uint32_t left, std::uint32_t right) const {
    return slots_[slot_of(key_of(left, right))].value;
  }

 private:
  struct slot {
    std::uint64_t key = ~std::uint64_t{0};
    merge value;
  };
  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) { return (std::uint64_t{left} << 32U) | right; }
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    auto const mask = slots_.size() - 1;
    auto h = key * 0x9e3779b97f4a7c15ULL;
    auto i = static_cast<std::size_t>(h ^ (h >> 32U)) & mask;
    while (slots_[i].key != key && slots_[i].value.rank != none) i = (i + 1) & mask;
    return i;
  }
  std::vector<slot> slots_;
};

/// Merges the tokens of one word, as long as there is a pair to merge: that of the lowest rank, of equal ones the
/// leftmost.
class bpe_word {
 public:
  /// `ids`: the word's bytes as tokens; then the tokens of the word.
  void merge(bpe_merges const& merges, std::vector<std::uint32_t>& ids) {
    if (ids.size() < 2) return;
    if (ids.size() <= short_word)
      merge_short(merges, ids);
    else
      merge_long(merges, ids);
  }

 private:
  static constexpr std::size_t short_word = 48;  // from here on looking through all pairs takes longer than a heap

  static void merge_short(bpe_merges const& merges, std::vector<std::uint32_t>& ids) {
    std::array<bpe_merges::merge, short_word> pairs;
    auto n = ids.size();
    for (std::size_t i = 0; i + 1 < n; ++i) pairs[i] = merges.find(ids[i], ids[i + 1]);
    for (; n > 1; --n) {
      std::size_t best = 0;
      for (std::size_t i = 1; i + 1 < n; ++i)
        if (pairs[i].rank < pairs[best].rank) best = i;
      if (pairs[best].rank == bpe_merges::none) break;
      ids[best] = pairs[best].id;
      for (auto i = best + 1; i + 1 < n; ++i) {
        ids[i] = ids[i + 1];
        pairs[i] = pairs[i + 1];
      }
      if (best + 2 < n) pairs[best] = merges.find(ids[best], ids[best + 1]);
      if (best > 0) pairs[best - 1] = merges.find(ids[best - 1], ids[best]);
    }
    ids.resize(n);
  }

  void merge_long(bpe_merges const& merges, std::vector<std::uint32_t>& ids) {
    auto const n = ids.size();
    after_.resize(n);
    before_.resize(n);
    auto const push = [&](std::size_t i) {
      if (after_[i] == n) return;
      auto const m = merges.find(ids[i], ids[after_[i]]);
      if (m.rank != bpe_merges::none) heap_.push({m.rank, i, ids[i], ids[after_[i]], m.id});
    };
    for (std::size_t i = 0; i < n; ++i) {
      after_[i] = i + 1;
      before_[i] = i - 1;
    }
    for (std::size_t i = 0; i < n; ++i) push(i);
    while (!heap_.empty()) {
      auto const c = heap_.top();
      heap_.pop();
      if (ids[c.at] != c.left || after_[c.at] == n || ids[after_[c.at]] != c.right) continue;  // merged meanwhile
      ids[c.at] = c.id;
      ids[after_[c.at]] = bpe_merges::none;
      after_[c.at] = after_[after_[c.at]];
      if (after_[c.at] < n) before_[after_[c.at]] = c.at;
      push(c.at);
      if (c.at > 0) push(before_[c.at]);
    }
    std::erase(ids, bpe_merges::none);
  }

  struct candidate {
    std::uint32_t rank;
    std::size_t at;
    std::uint32_t left, right, id;
    bool operator>(candidate const& o) const { return std::tie(rank, at) > std::tie(o.rank, o.at); }
  };
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> heap_;
  std::vector<std::size_t> after_, before_;
};

/// The tokens of words that were met before: a table of fixed size, in which a new word replaces an old one. Words of
/// more than 30 bytes or 8 tokens are not kept.
class word_cache {
 public:
  word_cache() : entries_(std::size_t{1} << 15U) {}
  struct alignas(64) entry {
    std::uint8_t length = 0, count = 0;
    std::array<char, 30> text{};
    std::array<std::uint32_t, 8> ids{};

    [[nodiscard]] bool has(std::string_view word) const {
      return length == word.size() && std::memcmp(text.data(), word.data(), word.size()) == 0;
    }
    void keep(std::string_view word, std::uint32_t const* from, std::size_t n) {
      if (n > ids.size()) return;
      length = static_cast<std::uint8_t>(word.size());
      count = static_cast<std::uint8_t>(n);
      std::memcpy(text.data(), word.data(), word.size());
      std::memcpy(ids.data(), from, n * sizeof(std::uint32_t));
    }
  };
  [[nodiscard]] static bool takes(std::string_view word) { return !word.empty() && word.size() <= 30; }
  /// Where a word would be.
  entry& at(std::string_view word) {
    std::uint64_t h = word.size();
    for (; word.size() >= 8; word.remove_prefix(8)) h = mixed(h, word, 8);
    if (!word.empty()) h = mixed(h, word, word.size());
    return entries_[h >> 49U];
  }

 private:
  static std::uint64_t mixed(std::uint64_t h, std::string_view word, std::size_t bytes) {
    std::uint64_t x = 0;
    std::memcpy(&x, word.data(), bytes);
    h = (h ^ x) * 0x9e3779b97f4a7c15ULL;
    return (h ^ (h >> 32U)) * 0xbf58476d1ce4e5b9ULL;
  }
  std::vector<entry> entries_;
};

}  // namespace mtf::detail
