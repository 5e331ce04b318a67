#pragma once
// A model that needs no ranks: its caches are the tokens themselves, and what follows depends on all of them. It checks
// what is asked of it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "../../tools/writing/model_on_ranks.hpp"

namespace support {

class remembering_model {
 public:
  std::int64_t vocabulary = 256, positions = 512, rows_of = 1, memory_of = 1;
  std::chrono::microseconds step_takes{0};
  bool finds = false, asynchronous = false;  // tokens by itself; a step late
  // What was asked of it.
  std::int64_t arranged = 0, most_rows = 0, most_memory = 0;
  std::int64_t drawn = 0, given = 0, went_on = 0,
               most_under_way = 0;  // steps: of logits, by go_on with tokens, without
  std::int64_t drew = 0;            // tokens by temperature

  /// The logits behind these tokens: letters more often than other bytes, now and then the byte 0.
  [[nodiscard]] std::vector<float> behind(std::vector<std::int32_t> const& tokens) const {
    std::uint64_t h = 0x9e3779b97f4a7c15U;
    auto const mix = [&](std::uint64_t x) {
      h ^= x;
      h *= 0xbf58476d1ce4e5b9U;
      h ^= h >> 29U;
    };
    for (auto const t : tokens) mix(static_cast<std::uint64_t>(t) + 1);
    std::vector<float> z;
    for (std::int64_t v = 0; v < vocabulary; ++v) {
      mix(static_cast<std::uint64_t>(v));
      auto const u = static_cast<float>(h >> 40U) * 0x1p-24F;
      z.push_back(4 * u + ((v >= 97 && v <= 122) || v == 32 ? 3.0F : v == 0 ? 0.5F : 0.0F));
    }
    return z;
  }

  mtf::tools::model_on_ranks on_ranks() {
    mtf::tools::model_on_ranks all{
        .vocabulary = vocabulary,
        .positions = positions,
        .rows_of = rows_of,
        .memory_of = memory_of,
        .speaks = true,
        .asynchronous = asynchronous,
        .tell = [](std::span<std::int32_t>) {},
        .begin =
            [this](std::int64_t memory) {
              prompt_.clear();
              prompt_memory_ = memory;
            },
        .read =
            [this](std::vector<std::int32_t> const& ids, std::int64_t start) {
              std::this_thread::sleep_for(step_takes);
              must(start == std::ssize(prompt_) && !ids.empty(), "a prompt is read in its order");
              prompt_.insert(prompt_.end(), ids.begin(), ids.end());
              must(std::ssize(prompt_) <= prompt_memory_, "a prompt fits");
              return behind(prompt_);
            },
        .arrange = [this](std::vector<std::int32_t> const& from, std::int64_t memory) { arrange(from, memory); },
        .keep =
            [this](std::int64_t row) {
              must(row >= 0 && row < std::ssize(rows_) && prompt_memory_ <= memory_, "a row for a prompt");
              rows_[static_cast<std::size_t>(row)] = prompt_;
              newest_.clear();
            },
        .next =
            [this](std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places) {
              ++drawn;
              newest_.clear();
              return next(ids, places);
            },
        .go_on = {},
        .found = {}};
    if (finds) {
      all.go_on = [this](std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places,
                         std::vector<mtf::tools::row_sampling> const& how) { go_on(ids, places, how); };
      all.found = [this] {
        must(!found_.empty(), "something to be found");
        auto const ids = found_.front();
        found_.pop_front();
        return ids;
      };
    }
    return all;
  }

 private:
  static void must(bool is_so, char const* what) {
    if (!is_so) throw std::logic_error(what);
  }
  void arrange(std::vector<std::int32_t> const& from, std::int64_t memory) {
    ++arranged;
    bool const keeps = std::any_of(from.begin(), from.end(), [](auto i) { return i >= 0; });
    must(std::ssize(from) % rows_of == 0 && memory % memory_of == 0, "multiples");
    must(!keeps || memory >= memory_, "rows do not shrink");
    std::vector<std::vector<std::int32_t>> rows;
    for (auto const i : from) {
      must(i < std::ssize(rows_), "a row that is there");
      rows.push_back(i < 0 ? std::vector<std::int32_t>() : rows_[static_cast<std::size_t>(i)]);
    }
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from.size() != rows_.size() || std::cmp_not_equal(from[i], i)) newest_.clear();
    rows_ = rows;
    memory_ = memory;
    most_rows = std::max<std::int64_t>(most_rows, std::ssize(rows_));
    most_memory = std::max(most_memory, memory);
  }
  std::vector<float> next(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places) {
    std::this_thread::sleep_for(step_takes);
    must(ids.size() == rows_.size() && places.size() == rows_.size(), "a token for each row");
    std::vector<float> all;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      auto& row = rows_[i];
      auto const at = static_cast<std::size_t>(places[i]);
      must(at <= row.size() && std::cmp_less(at, memory_), "a place behind those before");
      row.resize(at);
      row.push_back(ids[i]);
      auto const z = behind(row);
      all.insert(all.end(), z.begin(), z.end());
    }
    return all;
  }

  void go_on(std::vector<std::int32_t> const& ids, std::vector<std::int32_t> const& places,
             std::vector<mtf::tools::row_sampling> const& how) {
    if (ids.empty()) {
      ++went_on;
      must(newest_.size() == rows_.size(), "rows as they were");
      for (auto& at : places_) ++at;
    } else {
      ++given;
      must(found_.empty(), "nothing is under way");
      newest_ = ids;
      places_ = places;
      how_ = how;
      must(how.empty() || how.size() == rows_.size(), "how each row is drawn");
    }
    auto const tokens = newest_;
    auto const z = next(tokens, places_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      auto const* const of = z.data() + static_cast<std::int64_t>(i) * vocabulary;
      mtf::math::sampled_row const row(mtf::math::one_thread{}, vocabulary, mtf::math::dense_logits{of});
      auto const by = how_.empty() ? mtf::tools::row_sampling() : how_[i];
      drew += by.how.temperature > 0 ? 1 : 0;
      newest_[i] = row.drawn(by.how, mtf::tools::number_of_token(by.key, places_[i] + 1));
    }
    found_.push_back(newest_);
    most_under_way = std::max<std::int64_t>(most_under_way, std::ssize(found_));
  }

  std::vector<std::int32_t> prompt_;
  std::vector<std::vector<std::int32_t>> rows_;
  std::int64_t prompt_memory_ = 0, memory_ = 0;
  std::vector<std::int32_t> newest_, places_;
  std::vector<mtf::tools::row_sampling> how_;
  std::deque<std::vector<std::int32_t>> found_;
};

}  // namespace support
