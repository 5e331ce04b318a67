#pragma once
// Documents in a random order, packed into rows: what a training step reads.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/data/permutation.hpp>
#include <mtf/data/token_file.hpp>

namespace mtf {

/// How documents become rows.
struct row_options {
  std::int64_t sequence = 0;    // tokens in a row
  std::uint64_t key = 0;        // names the order, such as random_key(seed).of("data").bits()
  double validation_share = 0;  // of the tokens: documents that are kept from training, 0 to 0.5
};

/// Which of a file's documents.
enum class data_part : std::uint8_t { training, validation };

/// The documents of one part of a token file, one after the other, divided into rows of `sequence` tokens. Rows are
/// numbered from 0 on without end. In each epoch, which is `rows_in_epoch()` rows, the documents are shuffled and
/// packed anew, then the rows are shuffled; each document is in it once, each token. (The last row is filled up with
/// id 0 and label -1, which stands for none.) Of the validation part all epochs are the same, in the file's order.
///
/// All of it follows from the file, the options and the row's number: no rank, number of ranks or former call changes
/// it. So the number of the next row is all that a checkpoint must hold, beside `identity()` to compare. Validation
/// documents are drawn by the key. A file of fewer than 100 documents is one text, whose last part is for validation.
///
/// Memory: a number for each 64 documents. Rank threads need one each; the file may be the same.
class token_rows {
 public:
  static constexpr std::int64_t fewest_documents = 100;

  /// A file too short for one row of each part is a user_error.
  token_rows(token_file const& file, data_part part, row_options const& options)
      : file_(&file),
        options_(options),
        part_(part),
        one_text_(file.documents() < fewest_documents),
        drawn_(static_cast<std::uint64_t>(file.documents()), sub_key(0)) {
    split();
    rows_ = (length_ - 1 + options.sequence - 1) / options.sequence;
    if (length_ < 2 || (part == data_part::training && length_ <= options.sequence))
      throw user_error(file.path() + ": its part for " + (part == data_part::training ? "training" : "validation") +
                       " has " + std::to_string(length_) + " tokens; at least " +
                       std::to_string(part == data_part::training ? options.sequence + 1 : 2) +
                       " are needed, a row and its next token: use a longer text, shorter rows or another share "
                       "for validation");
  }

  /// Rows until each document was read once.
  [[nodiscard]] std::int64_t rows_in_epoch() const { return rows_; }
  /// Whether the file has fewer than `fewest_documents`.
  [[nodiscard]] bool is_one_text() const { return one_text_; }
  /// Documents of this part.
  [[nodiscard]] std::int64_t documents() const { return documents_; }
  /// Their tokens.
  [[nodiscard]] std::int64_t tokens() const { return length_; }

  /// Ids of a row from a column on, as many as `to` has room for; `column + to.size() <= sequence`.
  void ids(std::int64_t row, std::int64_t column, std::span<std::int32_t> to) const { read(row, column, 0, to); }
  /// Their labels: each is the token after the id.
  void labels(std::int64_t row, std::int64_t column, std::span<std::int32_t> to) const { read(row, column, 1, to); }

  /// How many of the row's positions have a label: all, but in the last row of an epoch.
  [[nodiscard]] std::int64_t labels_in(std::int64_t row) const {
    return std::min(options_.sequence, length_ - 1 - packed_row(row) * options_.sequence);
  }

  /// The document, by its number in the file, that is the i-th of an epoch.
  [[nodiscard]] std::int64_t document(std::int64_t epoch, std::int64_t i) const { return drawn(order_of(epoch), i); }
  /// What a run must have in common with the one that it goes on with: the file's fingerprint and the options.
  [[nodiscard]] std::string identity() const {
    return std::to_string(file_->fingerprint()) + " rows " + std::to_string(options_.sequence) + " key " +
           std::to_string(options_.key) + " validation " + std::to_string(options_.validation_share);
  }

 private:
  static constexpr std::int64_t stride = 64;

  /// Where documents are in the epoch's tokens: the place of each 64th.
  struct packed_epoch {
    std::int64_t epoch = -1;
    std::vector<std::int64_t> places;
  };

  [[nodiscard]] std::uint64_t sub_key(std::uint64_t purpose) const {
    return options_.key ^ ((purpose + 1) * 0x632be59bd9b4e019ULL);
  }
  [[nodiscard]] permutation order_of(std::int64_t epoch) const {
    return {static_cast<std::uint64_t>(documents_), sub_key(1 + 2 * static_cast<std::uint64_t>(epoch))};
  }
  [[nodiscard]] std::int64_t drawn(permutation const& order, std::int64_t i) const {
    if (one_text_) return 0;
    if (part_ == data_part::validation) return static_cast<std::int64_t>(drawn_(static_cast<std::uint64_t>(i)));
    return static_cast<std::int64_t>(drawn_(static_cast<std::uint64_t>(first_) + order(static_cast<std::uint64_t>(i))));
  }
  [[nodiscard]] std::int64_t tokens_of(std::int64_t document) const {
    return one_text_ ? length_ : file_->begin_of(document + 1) - file_->begin_of(document);
  }

  /// Which documents: the first ones of `drawn_` are for validation.
  void split() {
    auto const wanted = static_cast<std::int64_t>(options_.validation_share * static_cast<double>(file_->size()));
    bool const training = part_ == data_part::training;
    if (one_text_) {
      documents_ = 1;
      length_ = training ? file_->size() - wanted : wanted;
      first_ = training ? 0 : file_->size() - wanted;  // a token, not a document
      return;
    }
    std::int64_t kept = 0, of_validation = 0;
    while (kept < wanted) {
      auto const d = static_cast<std::int64_t>(drawn_(static_cast<std::uint64_t>(of_validation++)));
      kept += file_->begin_of(d + 1) - file_->begin_of(d);
    }
    documents_ = training ? file_->documents() - of_validation : of_validation;
    length_ = training ? file_->size() - kept : kept;
    first_ = training ? of_validation : 0;
  }

  /// The documents' places in an epoch. The last two are kept, as a batch may lie in both.
  [[nodiscard]] packed_epoch const& packed(std::int64_t epoch) const {
    auto& p = packed_[static_cast<std::size_t>(epoch % 2)];
    if (p.epoch == epoch) return p;
    p.places.clear();
    auto const order = order_of(epoch);
    std::int64_t place = 0;
    for (std::int64_t i = 0; i < documents_; ++i) {
      if (i % stride == 0) p.places.push_back(place);
      place += tokens_of(drawn(order, i));
    }
    p.epoch = epoch;
    return p;
  }

  [[nodiscard]] std::int64_t epoch_of(std::int64_t row) const { return part_ == data_part::training ? row / rows_ : 0; }
  /// The row's number in its epoch before rows are shuffled.
  [[nodiscard]] std::int64_t packed_row(std::int64_t row) const {
    auto const in_epoch = row % rows_;
    if (part_ == data_part::validation) return in_epoch;
    permutation const shuffled(static_cast<std::uint64_t>(rows_),
                               sub_key(2 + 2 * static_cast<std::uint64_t>(epoch_of(row))));
    return static_cast<std::int64_t>(shuffled(static_cast<std::uint64_t>(in_epoch)));
  }

  void read(std::int64_t row, std::int64_t column, std::int64_t shift, std::span<std::int32_t> to) const {
    auto const epoch = epoch_of(row);
    auto place = packed_row(row) * options_.sequence + column + shift;
    auto const& p = packed(epoch);
    auto const after = std::upper_bound(p.places.begin(), p.places.end(), place);
    auto i = (after - p.places.begin() - 1) * stride;
    auto begin = p.places[static_cast<std::size_t>(i / stride)];
    auto const order = order_of(epoch);
    for (; !to.empty() && i < documents_; ++i) {
      auto const d = drawn(order, i);
      auto const end = begin + tokens_of(d);
      if (auto const count = std::min(end - place, static_cast<std::int64_t>(to.size())); count > 0) {
        auto const first = one_text_ ? first_ : file_->begin_of(d);
        file_->read(first + place - begin, to.first(static_cast<std::size_t>(count)));
        to = to.subspan(static_cast<std::size_t>(count));
        place += count;
      }
      begin = end;
    }
    std::fill(to.begin(), to.end(), static_cast<std::int32_t>(-shift));  // ids 0, labels -1
  }

  token_file const* file_;
  row_options options_;
  data_part part_;
  bool one_text_;
  permutation drawn_;
  std::int64_t first_ = 0, documents_ = 0, length_ = 0, rows_ = 0;
  mutable std::array<packed_epoch, 2> packed_;
};

}  // namespace mtf
