#include "corpus.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/data.hpp>

namespace mtf::models {

struct corpus::open_file {
  open_file(std::string const& path, corpus_options const& options);
  open_file(open_file const&) = delete;  // the rows know where the file is
  open_file& operator=(open_file const&) = delete;
  ~open_file() = default;

  [[nodiscard]] std::int64_t batch_of(int step, std::int64_t i) const { return step * o.batches + i; }
  /// "; batches of 8 x 16, 4 x 32; 12.3 % of their positions are padded", with buckets.
  [[nodiscard]] std::string padded() const;
  /// The first bytes of a text's validation part, and behind its training part.
  [[nodiscard]] std::int64_t first_of_validation() const;
  // Of a file of tokens. The last row may be filled up, which would count for less.
  [[nodiscard]] std::int64_t full_validation_rows() const { return (validation->tokens() - 1) / o.sequence; }
  [[nodiscard]] std::int64_t validation_row(std::int64_t k, std::int64_t count) const {
    return spread(full_validation_rows() - 1, k, count);
  }
  /// The k-th of `count` numbers from 0 to `last`.
  static std::int64_t spread(std::int64_t last, std::int64_t k, std::int64_t count) {
    return last * k / std::max<std::int64_t>(1, count - 1);
  }
  template <class F>
  void for_each_token(mtf::data_part part, F const& f) const;

  mtf::token_file file;
  corpus_options o;
  std::unique_ptr<mtf::token_rows const> training, validation;  // of a file of tokens
  std::unique_ptr<mtf::document_batches const> batches;         // with buckets
};

corpus::corpus(std::string const& path, corpus_options const& options)
    : in_(std::make_unique<open_file const>(path, options)) {}
corpus::~corpus() = default;

std::int64_t corpus::training_labels(int step, std::int64_t i) const {
  auto const batch = in_->batch_of(step, i);
  if (in_->batches) return in_->batches->labels_in(batch);
  if (in_->file.plain_text()) return in_->o.rows * in_->o.sequence;
  std::int64_t labels = 0;
  for (std::int64_t row = 0; row < in_->o.rows; ++row) labels += in_->training->labels_in(batch * in_->o.rows + row);
  return labels;
}
batch_shape corpus::training_shape(int step, std::int64_t i) const {
  if (!in_->batches) return {in_->o.rows, in_->o.sequence};
  auto const [rows, length] = in_->batches->shape_of(in_->batch_of(step, i));
  return {rows, length};
}
std::vector<batch_shape> corpus::training_shapes() const {
  if (!in_->batches) return {{in_->o.rows, in_->o.sequence}};
  std::vector<batch_shape> all;
  for (std::size_t b = 0; b <= in_->o.buckets.size(); ++b) {
    auto const [rows, length] = in_->batches->shape_in(b);
    all.push_back(
        {rows, length,
         static_cast<double>(in_->batches->batches_in(b)) / static_cast<double>(in_->batches->batches_in_epoch())});
  }
  return all;
}
std::int64_t corpus::labels_in_batch() const {
  return in_->batches ? in_->batches->labels() / in_->batches->batches_in_epoch() : in_->o.rows * in_->o.sequence;
}
char const* corpus::token_name() const { return in_->file.plain_text() ? "byte" : "token"; }
char const* corpus::unigram_name() const { return in_->file.plain_text() ? "counting letters" : "counting tokens"; }

corpus::open_file::open_file(std::string const& path, corpus_options const& options) : file(path), o(options) {
  auto const n = file.size(), least = 2 * (o.sequence + 1);
  std::string const name = file.plain_text() ? "byte" : "token";
  if (!file.plain_text() && file.vocabulary() > o.vocabulary)
    throw mtf::user_error(
        path + " has a vocabulary of " + std::to_string(file.vocabulary()) +
        " tokens, but this executable's model one of " + std::to_string(o.vocabulary) +
        ": prepare the file with a smaller one (prepare --train-bpe), or give the model a larger one: "
        "--vocab, or, where sizes are types, `vocab` in the model's "
        "config");
  file.check_below(std::min(file.vocabulary(), o.vocabulary));
  if (n < least)
    throw mtf::user_error(path + ": the file has " + std::to_string(n) + " " + name + "s; at least " +
                          std::to_string(least) + " are needed, one sequence of " + std::to_string(o.sequence) +
                          " and its next " + name + " to train on and one to validate");
  std::sort(o.buckets.begin(), o.buckets.end());
  o.buckets.erase(std::unique(o.buckets.begin(), o.buckets.end()), o.buckets.end());
  if (!o.buckets.empty() && o.buckets.back() == o.sequence) o.buckets.pop_back();
  if (!o.buckets.empty() && o.buckets.back() > o.sequence)
    throw mtf::user_error("--buckets " + std::to_string(o.buckets.back()) + ": the longest is --sequence, " +
                          std::to_string(o.sequence) + "; give a longer one, or shorter buckets");
  if (!o.buckets.empty() && file.plain_text())
    throw mtf::user_error(
        "--buckets: expected a file of tokens, which has documents (prepare makes one), found the text " + path);
  if (file.plain_text()) return;
  double const one_row = (static_cast<double>(o.sequence) + 1.5) / static_cast<double>(n);
  mtf::row_options const rows{.sequence = o.sequence,
                              .key = o.seed.of("data").bits(),
                              .validation_share = std::max(o.validation_share, one_row)};
  training = std::make_unique<mtf::token_rows const>(file, mtf::data_part::training, rows);
  validation = std::make_unique<mtf::token_rows const>(file, mtf::data_part::validation, rows);
  if (o.buckets.empty()) return;
  auto lengths = o.buckets;
  lengths.push_back(o.sequence);
  batches = std::make_unique<mtf::document_batches const>(
      file, *training,
      mtf::bucket_options{.lengths = std::move(lengths), .rows = o.rows, .key = o.seed.of("batches").bits()});
}

void corpus::training(int step, std::int64_t i, std::int64_t row, example_part part, std::int64_t column,
                      std::span<std::int32_t> to) const {
  bool const labels = part == example_part::labels;
  auto const example = i * in_->o.rows + row;  // of the step
  if (in_->file.plain_text()) {
    auto const places = static_cast<std::uint64_t>(in_->first_of_validation() - in_->o.sequence);
    auto const key =
        in_->o.seed.of("batch").of(static_cast<std::uint64_t>(step)).of(static_cast<std::uint64_t>(example));
    in_->file.read(static_cast<std::int64_t>(key.bits() % places) + column + (labels ? 1 : 0), to);
  } else if (in_->batches) {
    auto const batch = in_->batch_of(step, i);
    labels ? in_->batches->labels(batch, row, column, to) : in_->batches->ids(batch, row, column, to);
  } else {
    auto const of_all = in_->batch_of(step, i) * in_->o.rows + row;
    labels ? in_->training->labels(of_all, column, to) : in_->training->ids(of_all, column, to);
  }
}

void corpus::validation(std::int64_t k, std::int64_t count, example_part part, std::int64_t column,
                        std::span<std::int32_t> to) const {
  bool const labels = part == example_part::labels;
  if (in_->file.plain_text()) {
    auto const first = in_->first_of_validation(), last = in_->file.size() - first - in_->o.sequence - 1;
    in_->file.read(first + open_file::spread(last, k, count) + column + (labels ? 1 : 0), to);
  } else {
    auto const row = in_->validation_row(k, count);
    labels ? in_->validation->labels(row, column, to) : in_->validation->ids(row, column, to);
  }
}

std::string corpus::description() const {
  auto const count = [](std::int64_t n, std::string const& what) { return std::to_string(n) + " " + what; };
  if (in_->file.plain_text()) return count(in_->file.size(), "bytes of text");
  auto const batches = in_->batches
                           ? static_cast<double>(in_->batches->batches_in_epoch())
                           : static_cast<double>(in_->training->rows_in_epoch()) / static_cast<double>(in_->o.rows);
  auto const steps = batches / static_cast<double>(in_->o.batches);
  auto const tenths = std::to_string(std::llround(10 * steps));
  return count(in_->file.size(), "tokens in ") +
         count(in_->file.documents(), in_->file.documents() == 1 ? "document" : "documents") + ", vocabulary " +
         std::to_string(in_->file.vocabulary()) + ", an epoch is " +
         (tenths.size() > 1 ? tenths.substr(0, tenths.size() - 1) : "0") + "." + tenths.back() + " steps" +
         in_->padded();
}

mtf::checkpoint_notes corpus::same() const {
  if (in_->file.plain_text())
    return {{"bytes of text", std::to_string(in_->file.size())},
            {"share for validation", std::to_string(in_->o.validation_share)}};
  return {{"file of tokens or order of its rows",
           in_->training->identity() + (in_->batches ? " " + in_->batches->identity() : "")},
          {"number of rows in a step", std::to_string(in_->o.rows * in_->o.batches)}};
}

double corpus::unigram_bits() const {
  std::vector<double> seen(static_cast<std::size_t>(in_->file.vocabulary()), 1.0);
  double total = static_cast<double>(in_->file.vocabulary()), bits = 0, tokens = 0;
  in_->for_each_token(mtf::data_part::training, [&](std::int32_t id) {
    ++seen[static_cast<std::size_t>(id)];
    ++total;
  });
  in_->for_each_token(mtf::data_part::validation, [&](std::int32_t id) {
    bits -= std::log2(seen[static_cast<std::size_t>(id)] / total);
    ++tokens;
  });
  return bits / tokens;
}

std::vector<std::int32_t> corpus::prompt() const {
  if (in_->file.plain_text()) return {'A', 'n', 'd', ' '};
  std::vector<std::int32_t> first(1);
  in_->validation->ids(0, 0, first);
  return {in_->file.end_of_text().value_or(first[0])};
}

std::string corpus::written(std::span<std::int32_t const> ids) const {
  std::string text;
  for (auto const id : ids)
    if (in_->file.plain_text())
      text += static_cast<char>(id);
    else
      text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

std::string corpus::open_file::padded() const {
  if (!batches) return "";
  std::string text = "; batches of ";
  for (std::size_t b = 0; b <= o.buckets.size(); ++b) {
    auto const [rows, length] = batches->shape_in(b);
    text += (b == 0 ? "" : ", ") + std::to_string(rows) + " x " + std::to_string(length);
  }
  auto const permille =
      std::llround(1000 - 1000.0 * static_cast<double>(batches->labels()) / static_cast<double>(batches->positions()));
  return text + " tokens; " + std::to_string(permille / 10) + "." + std::to_string(permille % 10) +
         " % of an epoch's positions are padded";
}

std::int64_t corpus::open_file::first_of_validation() const {
  auto const n = file.size();
  return std::min(n - static_cast<std::int64_t>(o.validation_share * static_cast<double>(n)), n - (o.sequence + 1));
}

template <class F>
void corpus::open_file::for_each_token(mtf::data_part part, F const& f) const {
  bool const of_training = part == mtf::data_part::training;
  std::vector<std::int32_t> ids;
  if (file.plain_text()) {
    auto const first = of_training ? 0 : first_of_validation(), end = of_training ? first_of_validation() : file.size();
    for (auto at = first; at < end; at += static_cast<std::int64_t>(ids.size())) {
      ids.resize(static_cast<std::size_t>(std::min<std::int64_t>(end - at, 1 << 16)));
      file.read(at, ids);
      std::for_each(ids.begin(), ids.end(), f);
    }
    return;
  }
  ids.resize(static_cast<std::size_t>(o.sequence));
  auto const& rows = of_training ? *training : *validation;
  auto const count = std::min<std::int64_t>(of_training ? rows.rows_in_epoch() : full_validation_rows(), 4096);
  for (std::int64_t k = 0; k < count; ++k) {
    rows.ids(of_training ? k : validation_row(k, count), 0, ids);
    std::for_each(ids.begin(), ids.end(), f);
  }
}

}  // namespace mtf::models
