#pragma once
// How a device goes through attention's scores: some sequences at a time, whose scores stay in its cache until they
// have been used; of these the products in blocks, without those of which no query sees a key.
#include <algorithm>
#include <array>
#include <cstddef>

#include <mtf/backend/work.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

#ifdef MTF_DEVICE_KERNELS  // on the host, in tests, which are small
inline constexpr double most_score_bytes = 4096, least_block_flops = 1000;
inline constexpr index score_grid = 8, most_score_blocks = 4;
#else
/// The cache of scores (an H200's is 50 MB, of which other operands need some), the work below which a launch is not
/// worth its time, and of what blocks' sizes are multiples, as tensor cores like it.
inline constexpr double most_score_bytes = 32e6, least_block_flops = 4e8;
inline constexpr index score_grid = 64, most_score_blocks = 8;
#endif

/// Some of the batch: its shape, where it begins in each operand, and its first sequence.
struct attention_part {
  attention_shape of;
  std::array<index, 8> at{};
  index sequence = 0;
};

/// The parts of the batch, one after the other. Sequences that share keys are in one.
class attention_parts {
 public:
  /// `bytes`: of each pair of a query and a key.
  attention_parts(attention_shape const& all, std::size_t bytes) : all_(all) {
    auto const& batch = all.batch;
    double const pairs = static_cast<double>(all.queries * all.keys) * static_cast<double>(bytes);
    for (int d = 0; d < batch.ndim; ++d) {
      auto const at = static_cast<std::size_t>(d);
      if (batch.extent[at] > 1 && batch.stride[of_k][at] == 0) break;
      split_ = d;
      at_once_ = 1;
      auto const fit = static_cast<index>(most_score_bytes / std::max(pairs * static_cast<double>(within(d)), 1.0));
      if (fit < 1) continue;
      at_once_ = std::min(fit, batch.extent[at]);
      break;
    }
  }

  [[nodiscard]] index count() const { return split_ < 0 ? 1 : outside() * steps(); }
  [[nodiscard]] attention_part operator[](index number) const {
    attention_part part{.of = all_};
    if (split_ < 0) return part;
    auto& batch = part.of.batch;
    index const first = number % steps() * at_once_;
    advance(part, split_, first);
    index before = number / steps();
    for (int d = split_ - 1; d >= 0; --d) {
      auto const at = static_cast<std::size_t>(d);
      advance(part, d, before % all_.batch.extent[at]);
      before /= all_.batch.extent[at];
      batch.extent[at] = 1;
    }
    auto const at = static_cast<std::size_t>(split_);
    batch.extent[at] = std::min(at_once_, all_.batch.extent[at] - first);
    if (part.of.lengths != nullptr) part.of.lengths += part.sequence;
    if (part.of.query_ids != nullptr) {
      part.of.query_ids += part.at[of_query_ids];
      part.of.key_ids += part.at[of_key_ids];
    }
    part.of.first_weight += part.at[of_weights];
    return part;
  }

 private:
  [[nodiscard]] index within(int d) const {
    index n = 1;
    for (int e = d + 1; e < all_.batch.ndim; ++e) n *= all_.batch.extent[static_cast<std::size_t>(e)];
    return n;
  }
  [[nodiscard]] index outside() const {
    index n = 1;
    for (int d = 0; d < split_; ++d) n *= all_.batch.extent[static_cast<std::size_t>(d)];
    return n;
  }
  [[nodiscard]] index steps() const { return ceil_div(all_.batch.extent[static_cast<std::size_t>(split_)], at_once_); }
  void advance(attention_part& part, int d, index by) const {
    for (std::size_t o = 0; o < part.at.size(); ++o)
      part.at[o] += by * all_.batch.stride[o][static_cast<std::size_t>(d)];
    part.sequence += by * within(d);
  }

  attention_shape all_;
  int split_ = -1;  // the loop that is taken a few at a time, those outside of it one by one; none
  index at_once_ = 1;
};

/// Queries and keys that are multiplied with each other.
struct score_block {
  index query, query_end, key, key_end;
};

/// The blocks of the products of a part: of some queries and the keys that they see, or of some keys and the queries
/// that see them. What is visible is in one of each, and all queries, and all keys, are in one.
class score_blocks {
 public:
  explicit score_blocks(attention_shape const& of) : seen_(of.seen), queries_(of.queries), keys_(of.keys) {
    double const flops = 2 * static_cast<double>(of.batch.size() * of.queries * of.keys * std::max(of.head, of.values));
    auto const most = static_cast<index>(std::min(flops / least_block_flops, static_cast<double>(most_score_blocks)));
    bool const hides = seen_.pairs(queries_, keys_) < 0.8 * static_cast<double>(queries_) * static_cast<double>(keys_);
    index const blocks = hides ? std::max<index>(most, 1) : 1;
    step_ = ceil_div(ceil_div(std::max(queries_, keys_), blocks), score_grid) * score_grid;
  }

  [[nodiscard]] index of_queries() const { return ceil_div(queries_, step_); }
  [[nodiscard]] index of_keys() const { return ceil_div(keys_, step_); }
  [[nodiscard]] score_block rows(index block) const {
    index const first = block * step_, end = std::min(first + step_, queries_);
    auto const keys = on_grid(seen_.first_key(first, keys_), seen_.end_of_keys(end - 1, keys_), keys_);
    return {first, end, keys.first, keys.end};
  }
  [[nodiscard]] score_block columns(index block) const {
    index const first = block * step_, end = std::min(first + step_, keys_);
    auto const queries =
        on_grid(seen_.first_query(first, queries_), seen_.end_of_queries(first, end, queries_), queries_);
    return {queries.first, queries.end, first, end};
  }

 private:
  struct range {
    index first, end;
  };
  /// Whole steps; one where there is nothing.
  [[nodiscard]] range on_grid(index first, index end, index n) const {
    if (first >= end) return {0, std::min(step_, n)};
    return {first / step_ * step_, std::min(ceil_div(end, step_) * step_, n)};
  }

  visible seen_;
  index queries_, keys_, step_ = 1;
};

}  // namespace mtf::kokkos
