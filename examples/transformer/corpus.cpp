#include "corpus.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <mtf/core/error.hpp>

namespace transformer {

corpus::corpus(std::string const& path, corpus_options const& options) : file_(path), o_(options) {
  auto const n = file_.size(), least = 2 * (o_.sequence + 1);
  std::string const name = token_name();
  if (!file_.plain_text() && file_.vocabulary() > o_.vocabulary)
    throw mtf::user_error(path + " has a vocabulary of " + std::to_string(file_.vocabulary()) +
                          " tokens, but this executable's model one of " + std::to_string(o_.vocabulary) +
                          ": prepare the file with a smaller one (prepare --train-bpe), or set `vocab` in a copy of "
                          "examples/transformer/configs/demo.hpp and build train-custom with -DMTF_CONFIG=<your file>");
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
  training_.emplace(file_, mtf::data_part::training, rows);
  validation_.emplace(file_, mtf::data_part::validation, rows);
}

void corpus::training(int step, std::int64_t i, example_part part, std::int64_t column,
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

void corpus::validation(std::int64_t k, std::int64_t count, example_part part, std::int64_t column,
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

std::string corpus::description() const {
  auto const count = [](std::int64_t n, std::string const& what) { return std::to_string(n) + " " + what; };
  if (file_.plain_text()) return count(file_.size(), "bytes of text");
  auto const steps = static_cast<double>(training_->rows_in_epoch()) / static_cast<double>(o_.in_step);
  auto const tenths = std::to_string(std::llround(10 * steps));
  return count(file_.size(), "tokens in ") +
         count(file_.documents(), file_.documents() == 1 ? "document" : "documents") + ", vocabulary " +
         std::to_string(file_.vocabulary()) + ", an epoch is " +
         (tenths.size() > 1 ? tenths.substr(0, tenths.size() - 1) : "0") + "." + tenths.back() + " steps";
}

mtf::checkpoint_notes corpus::same() const {
  if (file_.plain_text())
    return {{"bytes of text", std::to_string(file_.size())},
            {"share for validation", std::to_string(o_.validation_share)}};
  return {{"file of tokens or order of its rows", training_->identity()},
          {"number of rows in a step", std::to_string(o_.in_step)}};
}

double corpus::unigram_bits() const {
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

std::vector<std::int32_t> corpus::prompt() const {
  if (file_.plain_text()) return {'A', 'n', 'd', ' '};
  std::vector<std::int32_t> first(1);
  validation_->ids(0, 0, first);
  return {file_.end_of_text().value_or(first[0])};
}

std::string corpus::written(std::span<std::int32_t const> ids) const {
  std::string text;
  for (auto const id : ids)
    if (file_.plain_text())
      text += static_cast<char>(id);
    else
      text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

std::int64_t corpus::first_of_validation() const {
  auto const n = file_.size();
  return std::min(n - static_cast<std::int64_t>(o_.validation_share * static_cast<double>(n)), n - (o_.sequence + 1));
}

template <class F>
void corpus::for_each_token(mtf::data_part part, F const& f) const {
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

std::int32_t drawn_token(std::span<float const> logits, double uniform, double temperature) {
  double const largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weight(logits.size());
  double total = 0;
  for (std::size_t v = 0; v < weight.size(); ++v) total += weight[v] = std::exp((logits[v] - largest) / temperature);
  double left = total * uniform;
  std::size_t drawn = 0;
  while (drawn + 1 < weight.size() && (left -= weight[drawn]) >= 0) ++drawn;
  return static_cast<std::int32_t>(drawn);
}

}  // namespace transformer
