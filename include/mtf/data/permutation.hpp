#pragma once
// Shuffling without a table.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mtf {

/// A permutation of 0 to size - 1, by a key: any place of it is computed without the others, from no memory, and is the
/// same on every rank. A Feistel network whose rounds are keyed hashes (splitmix64's) on the next power of two; what
/// falls outside is permuted again until it falls inside (cycle walking; Black and Rogaway 2002).
class permutation {
 public:
  constexpr permutation(std::uint64_t size, std::uint64_t key) : size_(size) {
    unsigned const bits = size > 2 ? static_cast<unsigned>(std::bit_width(size - 1)) : 2;
    low_bits_ = bits / 2;
    low_ = mask(low_bits_);
    high_ = mask(bits - low_bits_);
    for (auto& k : keys_) k = key = mix(key + 0x9e3779b97f4a7c15ULL);
  }
  /// How many numbers.
  [[nodiscard]] constexpr std::uint64_t size() const { return size_; }
  /// What stands at place i < size.
  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t i) const {
    do i = once(i);
    while (i >= size_);
    return i;
  }

 private:
  static constexpr std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  [[nodiscard]] constexpr std::uint64_t once(std::uint64_t i) const {
    auto high = i >> low_bits_, low = i & low_;
    for (std::size_t round = 0; round < keys_.size(); round += 2) {
      high ^= mix(low + keys_[round]) & high_;
      low ^= mix(high + keys_[round + 1]) & low_;
    }
    return (high << low_bits_) | low;
  }

  std::uint64_t size_, low_ = 0, high_ = 0;
  unsigned low_bits_ = 0;
  std::array<std::uint64_t, 8> keys_{};
};

}  // namespace mtf
