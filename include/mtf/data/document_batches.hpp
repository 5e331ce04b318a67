#pragma once
// Documents of about the same length in a batch: what a training step reads where sequences have several lengths.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/data/permutation.hpp>
#include <mtf/data/token_file.hpp>
#include <mtf/data/token_rows.hpp>

namespace mtf {

/// How documents become batches.
struct bucket_options {
  std::vector<std::int64_t> lengths{};  // of rows, ascending: the buckets
  std::int64_t rows = 1;                // in a batch of the longest; a batch of another has a multiple of it
  std::uint64_t key = 0;                // names the order of batches, such as random_key(seed).of("batches").bits()
};

/// The documents of a token file's training part, each a row of its own, in batches of one bucket each: the shortest
/// that holds all tokens of the document but the last, which is a label alone. A document longer than the longest
/// bucket is split into rows, so that each of its tokens but the first is a label once. What a row is longer than its
/// document has id 0 and label -1, which stands for none. A batch has as many rows, in multiples of `rows`, as keep
/// rows times length at most at that of the longest bucket. The last batch of a bucket in an epoch is filled up with
/// empty rows.
///
/// Batches are numbered from 0 on without end. In each epoch, which is `batches_in_epoch()` of them, documents are
/// shuffled anew, as `token_rows` does, then batches; each document is in it once (but for those of a single token,
/// which has no label). All of it follows from the file, the options and the batch's number: no rank, layout or former
/// call changes it, and the number of the next batch is all that a checkpoint must hold, beside `identity()` to
/// compare.
///
/// Memory: 24 bytes for each row of an epoch. Rank threads need one each; file and order may be the same.
class document_batches {
 public:
  /// A batch's rows, and tokens in each.
  struct shape {
    std::int64_t rows = 0, length = 0;
    bool operator==(shape const&) const = default;
  };

  /// `order`: of the training part. A file of one text, without documents, is a user_error.
  document_batches(token_file const& file, token_rows const& order, bucket_options options)
      : file_(&file), order_(&order), options_(std::move(options)), buckets_(options_.lengths.size()) {
    if (order.is_one_text())
      throw user_error(file.path() + " has " + std::to_string(file.documents()) + " documents; at least " +
                       std::to_string(token_rows::fewest_documents) +
                       " are needed for batches of documents of about the same length");
    for (std::int64_t i = 0; i < order.documents(); ++i)
      for_each_row(order.document(0, i), [&](std::size_t b, row const& r) {
        ++buckets_[b].rows;
        labels_ += r.length;
      });
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      auto const in_batch = shape_in(b).rows;
      batches_ += buckets_[b].batches = (buckets_[b].rows + in_batch - 1) / in_batch;
      positions_ += buckets_[b].batches * in_batch * options_.lengths[b];
    }
    if (batches_ == 0) throw user_error(file.path() + ": no document has two tokens, one and its next");
  }

  /// Batches until each document was read once.
  [[nodiscard]] std::int64_t batches_in_epoch() const { return batches_; }
  /// Labels in an epoch.
  [[nodiscard]] std::int64_t labels() const { return labels_; }
  /// Places for them: the others are padded.
  [[nodiscard]] std::int64_t positions() const { return positions_; }
  /// How many batches of an epoch are of a bucket.
  [[nodiscard]] std::int64_t batches_in(std::size_t bucket) const { return buckets_[bucket].batches; }
  /// Rows and length of a bucket's batches.
  [[nodiscard]] shape shape_in(std::size_t bucket) const {
    auto const length = options_.lengths[bucket];
    return {options_.lengths.back() / length * options_.rows, length};
  }
  /// Rows and length of a batch.
  [[nodiscard]] shape shape_of(std::int64_t batch) const { return shape_in(place_of(batch).bucket); }
  /// How many labels a batch has.
  [[nodiscard]] std::int64_t labels_in(std::int64_t batch) const {
    std::int64_t labels = 0;
    for (auto const& r : rows_of(batch)) labels += r.length;
    return labels;
  }
  /// Ids of a batch's row from a column on, as many as `to` has room for.
  void ids(std::int64_t batch, std::int64_t row, std::int64_t column, std::span<std::int32_t> to) const {
    read(batch, row, column, 0, to);
  }
  /// Their labels: each is the token after the id.
  void labels(std::int64_t batch, std::int64_t row, std::int64_t column, std::span<std::int32_t> to) const {
    read(batch, row, column, 1, to);
  }

  /// What a run must have in common with the one that it goes on with, beside that of the order.
  [[nodiscard]] std::string identity() const {
    std::string text = "buckets";
    for (auto const length : options_.lengths) text += " " + std::to_string(length);
    return text + " rows " + std::to_string(options_.rows) + " key " + std::to_string(options_.key);
  }

 private:
  /// Tokens of a document that are in one row: `length` ids, each of which has a label.
  struct row {
    std::int64_t document = 0, first = 0, length = 0;
  };
  struct bucket {
    std::int64_t rows = 0, batches = 0;  // in an epoch
  };
  /// Where a batch is in its epoch.
  struct place {
    std::size_t bucket = 0;
    std::int64_t epoch = 0, batch = 0;  // among those of the bucket
  };

  template <class F>
  void for_each_row(std::int64_t document, F const& f) const {
    auto const longest = options_.lengths.back();
    auto const all = file_->begin_of(document + 1) - file_->begin_of(document) - 1;
    for (std::int64_t first = 0; first < all; first += longest) {
      row const r{document, first, std::min(longest, all - first)};
      auto const at = std::lower_bound(options_.lengths.begin(), options_.lengths.end(), r.length);
      f(static_cast<std::size_t>(at - options_.lengths.begin()), r);
    }
  }

  [[nodiscard]] place place_of(std::int64_t batch) const {
    auto const epoch = batch / batches_;
    permutation const shuffled(static_cast<std::uint64_t>(batches_),
                               options_.key ^ ((static_cast<std::uint64_t>(epoch) + 1) * 0x632be59bd9b4e019ULL));
    auto at = static_cast<std::int64_t>(shuffled(static_cast<std::uint64_t>(batch % batches_)));
    std::size_t b = 0;
    for (; at >= buckets_[b].batches; ++b) at -= buckets_[b].batches;
    return {b, epoch, at};
  }
  /// Those of a batch that are not empty.
  [[nodiscard]] std::span<row const> rows_of(std::int64_t batch) const {
    auto const at = place_of(batch);
    if (at.epoch != epoch_) {  // only the newest is kept
      rows_.assign(buckets_.size(), {});
      for (std::size_t b = 0; b < buckets_.size(); ++b) rows_[b].reserve(static_cast<std::size_t>(buckets_[b].rows));
      for (std::int64_t i = 0; i < order_->documents(); ++i)
        for_each_row(order_->document(at.epoch, i), [&](std::size_t b, row const& r) { rows_[b].push_back(r); });
      epoch_ = at.epoch;
    }
    auto const in_batch = shape_in(at.bucket).rows;
    auto const first = at.batch * in_batch;
    std::span<row const> const all(rows_[at.bucket]);
    return all.subspan(static_cast<std::size_t>(first),
                       static_cast<std::size_t>(std::min(in_batch, buckets_[at.bucket].rows - first)));
  }

  void read(std::int64_t batch, std::int64_t row, std::int64_t column, std::int64_t shift,
            std::span<std::int32_t> to) const {
    auto const rows = rows_of(batch);
    if (auto const i = static_cast<std::size_t>(row); i < rows.size()) {
      auto const& r = rows[i];
      auto const count = std::min(r.length - column, static_cast<std::int64_t>(to.size()));
      if (count > 0) {
        file_->read(file_->begin_of(r.document) + r.first + column + shift, to.first(static_cast<std::size_t>(count)));
        to = to.subspan(static_cast<std::size_t>(count));
      }
    }
    std::fill(to.begin(), to.end(), static_cast<std::int32_t>(-shift));  // ids 0, labels -1
  }

  token_file const* file_;
  token_rows const* order_;
  bucket_options options_;
  std::vector<bucket> buckets_;
  std::int64_t batches_ = 0, labels_ = 0, positions_ = 0;
  mutable std::int64_t epoch_ = -1;
  mutable std::vector<std::vector<row>> rows_;  // of each bucket, in this epoch
};

}  // namespace mtf
