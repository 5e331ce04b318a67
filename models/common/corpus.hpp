#pragma once
// What a language model is trained on: a text, by its bytes, or a file of tokens.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mtf/checkpoint/part.hpp>
#include <mtf/core/error.hpp>
#include <mtf/data.hpp>
#include <mtf/ops/create/random.hpp>

namespace mtf::models {

/// How a file becomes examples.
struct corpus_options {
  std::int64_t sequence = 0;      // tokens in an example
  std::int64_t in_step = 0;       // examples in a training step
  std::int64_t vocabulary = 0;    // of the model
  double validation_share = 0.1;  // of the tokens, kept from training: at least one example
  mtf::random_key seed{0};        // of the run
};

/// What of an example: its tokens, or for each the one that follows.
enum class example_part : std::uint8_t { ids, labels };

/// Examples for training and validation, of a file that mtf::token_file tells by its first bytes. Any rank reads any
/// part of any example, by its number alone. Of a text, examples of training begin at random bytes. Of a file of tokens
/// they are the rows of mtf::token_rows: documents in a random order, each once in an epoch.
class corpus {
 public:
  /// A user_error says what is wrong with the file: a vocabulary that is larger than the model's, a token that the
  /// model's has not, too few tokens.
  corpus(std::string const& path, corpus_options const& options);
  corpus(corpus const&) = delete;  // its rows know where its file is
  corpus& operator=(corpus const&) = delete;
  ~corpus() = default;

  /// Example `i` of a training step, from a column on, as much as `to` has room for.
  void training(int step, std::int64_t i, example_part part, std::int64_t column, std::span<std::int32_t> to) const;
  /// How many labels that example has.
  [[nodiscard]] std::int64_t training_labels(int step, std::int64_t i) const {
    return file_.plain_text() ? o_.sequence : training_->labels_in(row_of(step, i));
  }
  /// The same of the k-th of `count` examples spread evenly over the validation part.
  void validation(std::int64_t k, std::int64_t count, example_part part, std::int64_t column,
                  std::span<std::int32_t> to) const;

  /// What its tokens are: "byte" or "token".
  [[nodiscard]] char const* token_name() const { return file_.plain_text() ? "byte" : "token"; }
  /// "4351845 bytes of text"
  [[nodiscard]] std::string description() const;
  /// What a run must have in common with the one that it goes on with, by name.
  [[nodiscard]] mtf::checkpoint_notes same() const;
  /// The validation part's entropy in bits a token under the frequencies of the training part, which is what counting
  /// tokens gives; of a file of tokens that of at most 4096 examples under those of as many.
  [[nodiscard]] double unigram_bits() const;
  [[nodiscard]] char const* unigram_name() const { return file_.plain_text() ? "counting letters" : "counting tokens"; }
  /// What a sample goes on from.
  [[nodiscard]] std::vector<std::int32_t> prompt() const;
  /// Tokens for people to read: text, or their numbers.
  [[nodiscard]] std::string written(std::span<std::int32_t const> ids) const;

 private:
  [[nodiscard]] std::int64_t row_of(int step, std::int64_t i) const { return step * o_.in_step + i; }
  /// The first bytes of a text's validation part, and behind its training part.
  [[nodiscard]] std::int64_t first_of_validation() const;
  [[nodiscard]] std::int64_t full_validation_rows() const { return (validation_->tokens() - 1) / o_.sequence; }
  template <class F>
  void for_each_token(mtf::data_part part, F const& f) const;

  mtf::token_file file_;
  corpus_options o_;
  std::unique_ptr<mtf::token_rows const> training_, validation_;  // of a file of tokens
};

inline corpus::corpus(std::string const& path, corpus_options const& options) : file_(path), o_(options) {
  auto const n = file_.size(), least = 2 * (o_.sequence + 1);
  std::string const name = token_name();
  if (!file_.plain_text() && file_.vocabulary() > o_.vocabulary)
    throw mtf::user_error(path + " has a vocabulary of " + std::to_string(file_.vocabulary()) +
                          " tokens, but this executable's model one of " + std::to_string(o_.vocabulary) +
                          ": prepare the file with a smaller one (prepare --train-bpe), or set `vocab` in the model's "
                          "config and build it again");
  file_.check_below(std::min(file_.vocabulary(), o_.vocabulary));
  if (n < least)
    throw mtf::user_error(path + ": the file has " + std::to_string(n) + " " + name + "s; at least " +
                          std::to_string(least) + " are needed, one sequence of " + std::to_string(o_.sequence) +
                          " and its next " + name + " to train on and one to validate");
  if (file_.plain_text()) return;
  double const one_row = (static_cast<double>(o_.sequence) + 1.5) / static_cast<double>(n);
  mtf::row_options const rows{.sequence = o_.sequence,
                              .key = o_.seed.of("data").bits(),
                              .validation_share = std::max(o_.validation_share, one_row)};
  training_ = std::make_unique<mtf::token_rows const>(file_, mtf::data_part::training, rows);
  validation_ = std::make_unique<mtf::token_rows const>(file_, mtf::data_part::validation, rows);
}

inline void corpus::training(int step, std::int64_t i, example_part part, std::int64_t column,
                             std::span<std::int32_t> to) const {
  bool const labels = part == example_part::labels;
  if (file_.plain_text()) {
    auto const places = static_cast<std::uint64_t>(first_of_validation() - o_.sequence);
    auto const key = o_.seed.of("batch").of(static_cast<std::uint64_t>(step)).of(static_cast<std::uint64_t>(i));
    file_.read(static_cast<std::int64_t>(key.bits() % places) + column + (labels ? 1 : 0), to);
  } else {
    auto const row = row_of(step, i);
    labels ? training_->labels(row, column, to) : training_->ids(row, column, to);
  }
}

inline void corpus::validation(std::int64_t k, std::int64_t count, example_part part, std::int64_t column,
                               std::span<std::int32_t> to) const {
  bool const labels = part == example_part::labels;
  auto const spread = [&](std::int64_t last) { return last * k / std::max<std::int64_t>(1, count - 1); };
  if (file_.plain_text()) {
    auto const first = first_of_validation();
    file_.read(first + spread(file_.size() - first - o_.sequence - 1) + column + (labels ? 1 : 0), to);
  } else {
    // The last row may be filled up, which would count for less.
    auto const row = spread(full_validation_rows() - 1);
    labels ? validation_->labels(row, column, to) : validation_->ids(row, column, to);
  }
}

inline std::string corpus::description() const {
  auto const count = [](std::int64_t n, std::string const& what) { return std::to_string(n) + " " + what; };
  if (file_.plain_text()) return count(file_.size(), "bytes of text");
  auto const steps = static_cast<double>(training_->rows_in_epoch()) / static_cast<double>(o_.in_step);
  auto const tenths = std::to_string(std::llround(10 * steps));
  return count(file_.size(), "tokens in ") +
         count(file_.documents(), file_.documents() == 1 ? "document" : "documents") + ", vocabulary " +
         std::to_string(file_.vocabulary()) + ", an epoch is " +
         (tenths.size() > 1 ? tenths.substr(0, tenths.size() - 1) : "0") + "." + tenths.back() + " steps";
}

inline mtf::checkpoint_notes corpus::same() const {
  if (file_.plain_text())
    return {{"bytes of text", std::to_string(file_.size())},
            {"share for validation", std::to_string(o_.validation_share)}};
  return {{"file of tokens or order of its rows", training_->identity()},
          {"number of rows in a step", std::to_string(o_.in_step)}};
}

inline double corpus::unigram_bits() const {
  std::vector<double> seen(static_cast<std::size_t>(file_.vocabulary()), 1.0);
  double total = static_cast<double>(file_.vocabulary()), bits = 0, tokens = 0;
  for_each_token(mtf::data_part::training, [&](std::int32_t id) {
    ++seen[static_cast<std::size_t>(id)];
    ++total;
  });
  for_each_token(mtf::data_part::validation, [&](std::int32_t id) {
    bits -= std::log2(seen[static_cast<std::size_t>(id)] / total);
    ++tokens;
  });
  return bits / tokens;
}

inline std::vector<std::int32_t> corpus::prompt() const {
  if (file_.plain_text()) return {'A', 'n', 'd', ' '};
  std::vector<std::int32_t> first(1);
  validation_->ids(0, 0, first);
  return {file_.end_of_text().value_or(first[0])};
}

inline std::string corpus::written(std::span<std::int32_t const> ids) const {
  std::string text;
  for (auto const id : ids)
    if (file_.plain_text())
      text += static_cast<char>(id);
    else
      text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

inline std::int64_t corpus::first_of_validation() const {
  auto const n = file_.size();
  return std::min(n - static_cast<std::int64_t>(o_.validation_share * static_cast<double>(n)), n - (o_.sequence + 1));
}

template <class F>
inline void corpus::for_each_token(mtf::data_part part, F const& f) const {
  bool const training = part == mtf::data_part::training;
  std::vector<std::int32_t> ids;
  if (file_.plain_text()) {
    auto const first = training ? 0 : first_of_validation(), end = training ? first_of_validation() : file_.size();
    for (auto at = first; at < end; at += static_cast<std::int64_t>(ids.size())) {
      ids.resize(static_cast<std::size_t>(std::min<std::int64_t>(end - at, 1 << 16)));
      file_.read(at, ids);
      std::for_each(ids.begin(), ids.end(), f);
    }
    return;
  }
  ids.resize(static_cast<std::size_t>(o_.sequence));
  auto const& rows = training ? *training_ : *validation_;
  auto const full = training ? rows.rows_in_epoch() : full_validation_rows();
  auto const count = std::min<std::int64_t>(full, 4096);
  for (std::int64_t k = 0; k < count; ++k) {
    training ? rows.ids(k, 0, ids) : validation(k, count, example_part::ids, 0, ids);
    std::for_each(ids.begin(), ids.end(), f);
  }
}

}  // namespace mtf::models
