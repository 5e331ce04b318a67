#pragma once
// A text as bytes: its training and validation parts, and batches drawn from them.
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/ops/create/random.hpp>

namespace transformer {

/// Token numbers [batch, sequence] and, for each, the byte that follows.
struct sample_batch {
  std::vector<std::int32_t> ids, labels;
};

class text {
 public:
  /// Reads a file; the last tenth is for validation. `sequence`: the length of one training example.
  text(std::string const& path, std::int64_t sequence) : sequence_(sequence) {
    if (int const error = read(path); error != 0)
      throw mtf::user_error("--data " + path + ": " + std::strerror(error) + "; a file of text was expected");
    auto const n = static_cast<std::int64_t>(bytes_.size());
    if (n == 0) throw mtf::user_error("--data " + path + ": the file is empty");
    auto const least = 2 * (sequence + 1);
    if (n < least)
      throw mtf::user_error("--data " + path + ": the file has " + std::to_string(n) + " bytes; at least " +
                            std::to_string(least) + " are needed, one sequence of " + std::to_string(sequence) +
                            " and its next byte to train on and one to validate");
    validation_ = std::min(n - n / 10, n - (sequence + 1));
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

  /// `count` examples at random places of the training part.
  [[nodiscard]] sample_batch training(std::int64_t count, mtf::random_key key) const {
    auto const places = static_cast<std::uint64_t>(validation_ - sequence_);
    return draw(count, [&](std::int64_t i) {
      return static_cast<std::int64_t>(key.of(static_cast<std::uint64_t>(i)).bits() % places);
    });
  }
  /// The n-th of `of` batches spread evenly over the validation part.
  [[nodiscard]] sample_batch validation(std::int64_t count, int n, int of) const {
    auto const last = size() - validation_ - sequence_ - 1;
    return draw(count, [&](std::int64_t i) {
      return validation_ + last * (n * count + i) / std::max<std::int64_t>(1, of * count - 1);
    });
  }
  /// The validation part's entropy in bits a byte under the frequencies of the training part: what counting letters
  /// gives.
  [[nodiscard]] double unigram_bits() const {
    std::array<double, 256> count{};
    count.fill(1);
    double total = 256, bits = 0;
    for (std::int64_t i = 0; i < validation_; ++i, ++total) ++count[byte(i)];
    for (std::int64_t i = validation_; i < size(); ++i) bits -= std::log2(count[byte(i)] / total);
    return bits / static_cast<double>(size() - validation_);
  }

 private:
  /// errno, 0 if all went well. Not by a stream: reading a directory by one throws, or gives nothing.
  int read(std::string const& path) {
    std::FILE* const in = std::fopen(path.c_str(), "rb");
    if (in == nullptr) return errno;
    std::array<char, 1 << 16> part{};
    while (auto const n = std::fread(part.data(), 1, part.size(), in)) bytes_.append(part.data(), n);
    int const error = std::ferror(in) != 0 ? errno : 0;
    std::fclose(in);
    return error;
  }
  [[nodiscard]] std::size_t byte(std::int64_t i) const {
    return static_cast<unsigned char>(bytes_[static_cast<std::size_t>(i)]);
  }
  template <class Place>
  sample_batch draw(std::int64_t count, Place place) const {
    sample_batch b;
    for (std::int64_t i = 0; i < count; ++i) {
      auto const at = place(i);
      for (std::int64_t j = 0; j < sequence_; ++j) {
        b.ids.push_back(static_cast<std::int32_t>(byte(at + j)));
        b.labels.push_back(static_cast<std::int32_t>(byte(at + j + 1)));
      }
    }
    return b;
  }

  std::string bytes_;
  std::int64_t sequence_;
  std::int64_t validation_ = 0;
};

}  // namespace transformer
