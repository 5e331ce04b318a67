#include "text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <mtf/core/error.hpp>

namespace transformer {
namespace {

/// errno, 0 if all went well. Not by a stream: reading a directory by one throws, or gives nothing.
int read(std::string const& path, std::string& bytes) {
  std::FILE* const in = std::fopen(path.c_str(), "rb");
  if (in == nullptr) return errno;
  std::array<char, 1 << 16> part{};
  while (auto const n = std::fread(part.data(), 1, part.size(), in)) bytes.append(part.data(), n);
  int const error = std::ferror(in) != 0 ? errno : 0;
  std::fclose(in);
  return error;
}

}  // namespace

text::text(std::string const& path, std::int64_t sequence) : sequence_(sequence) {
  if (int const error = read(path, bytes_); error != 0)
    throw mtf::user_error("--data " + path + ": " + std::strerror(error) + "; a file of text was expected");
  auto const n = size(), least = 2 * (sequence + 1);
  if (n == 0) throw mtf::user_error("--data " + path + ": the file is empty");
  if (n < least)
    throw mtf::user_error("--data " + path + ": the file has " + std::to_string(n) + " bytes; at least " +
                          std::to_string(least) + " are needed, one sequence of " + std::to_string(sequence) +
                          " and its next byte to train on and one to validate");
  validation_ = std::min(n - n / 10, n - (sequence + 1));
}

sample_batch text::training(std::int64_t count, mtf::random_key key) const {
  auto const places = static_cast<std::uint64_t>(validation_ - sequence_);
  sample_batch b;
  for (std::int64_t i = 0; i < count; ++i)
    add(static_cast<std::int64_t>(key.of(static_cast<std::uint64_t>(i)).bits() % places), b);
  return b;
}

sample_batch text::validation(std::int64_t count, int n, int of) const {
  auto const last = size() - validation_ - sequence_ - 1;
  sample_batch b;
  for (std::int64_t i = 0; i < count; ++i)
    add(validation_ + last * (n * count + i) / std::max<std::int64_t>(1, of * count - 1), b);
  return b;
}

double text::unigram_bits() const {
  std::array<double, 256> count{};
  count.fill(1);
  double total = 256, bits = 0;
  for (std::int64_t i = 0; i < validation_; ++i, ++total) ++count[byte(i)];
  for (std::int64_t i = validation_; i < size(); ++i) bits -= std::log2(count[byte(i)] / total);
  return bits / static_cast<double>(size() - validation_);
}

void text::add(std::int64_t at, sample_batch& to) const {
  for (std::int64_t j = at; j < at + sequence_; ++j) {
    to.ids.push_back(static_cast<std::int32_t>(byte(j)));
    to.labels.push_back(static_cast<std::int32_t>(byte(j + 1)));
  }
}

char drawn_byte(std::span<float const> logits, double uniform, double temperature) {
  double const largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weight(logits.size());
  double total = 0;
  for (std::size_t v = 0; v < weight.size(); ++v) total += weight[v] = std::exp((logits[v] - largest) / temperature);
  double left = total * uniform;
  std::size_t drawn = 0;
  while (drawn + 1 < weight.size() && (left -= weight[drawn]) >= 0) ++drawn;
  return static_cast<char>(drawn);
}

}  // namespace transformer
