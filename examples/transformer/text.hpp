#pragma once
// A text as bytes: its training and validation parts, and batches drawn from them.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mtf/ops/create/random.hpp>

namespace transformer {

/// Token numbers [batch, sequence] and, for each, the byte that follows.
struct sample_batch {
  std::vector<std::int32_t> ids, labels;
};

class text {
 public:
  /// Reads a file; the last tenth is for validation. `sequence`: the length of one training example.
  text(std::string const& path, std::int64_t sequence);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  /// `count` examples at random places of the training part.
  [[nodiscard]] sample_batch training(std::int64_t count, mtf::random_key key) const;
  /// The n-th of `of` batches spread evenly over the validation part.
  [[nodiscard]] sample_batch validation(std::int64_t count, int n, int of) const;
  /// The validation part's entropy in bits a byte under the frequencies of the training part: what counting letters
  /// gives.
  [[nodiscard]] double unigram_bits() const;

 private:
  [[nodiscard]] std::size_t byte(std::int64_t i) const {
    return static_cast<unsigned char>(bytes_[static_cast<std::size_t>(i)]);
  }
  /// The example that begins at byte `at`.
  void add(std::int64_t at, sample_batch& to) const;

  std::string bytes_;
  std::int64_t sequence_;
  std::int64_t validation_ = 0;
};

/// The byte that a number of [0, 1) draws from the softmax of `logits` at `temperature`.
char drawn_byte(std::span<float const> logits, double uniform, double temperature);

}  // namespace transformer
