#pragma once
// CRC-32C of tensors of which each rank has some bytes. The remainder of a whole is the exclusive or of the remainders
// of its parts, each times x to the number of bits behind it: so every layout gives the same checksum, and a rank that
// reads a part needs nothing of the others but four bytes. Needs ISA-L.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <isa-l/crc.h>

namespace mtf::detail {

/// The remainder of `before`, the one of the bytes in front of it, and these bytes.
inline std::uint32_t remainder_of(std::uint32_t before, void const* data, std::size_t bytes) {
  auto const* at = static_cast<unsigned char const*>(data);
  while (bytes > 0) {
    auto const some = std::min(bytes, std::size_t{1} << 30U);  // ISA-L takes an int, and changes nothing
    before = crc32_iscsi(const_cast<unsigned char*>(at), static_cast<int>(some), before);
    at += some;
    bytes -= some;
  }
  return before;
}

/// The product of two polynomials modulo the one of CRC-32C; the highest bit is the coefficient of x^0.
constexpr std::uint32_t crc_product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
    product ^= b & (0U - static_cast<std::uint32_t>((a & bit) != 0));  // no branches: they would be guessed wrong
    b = (b >> 1U) ^ (0x82f63b78U & (0U - (b & 1U)));
  }
  return product;
}

/// x^(8 bytes).
constexpr std::uint32_t crc_power(std::uint64_t bytes) {
  std::uint32_t power = 1U << 31U, square = 1U << 23U;
  for (; bytes != 0; bytes >>= 1U) {
    if ((bytes & 1U) != 0) power = crc_product(power, square);
    square = crc_product(square, square);
  }
  return power;
}

/// The checksum that files hold, of `bytes` bytes with this remainder: 1s go in front, and all bits are turned.
constexpr std::uint32_t checksum_from(std::uint32_t remainder, std::uint64_t bytes) {
  return ~(remainder ^ crc_product(0xffffffffU, crc_power(bytes)));
}

/// The checksum of bytes that are all there.
inline std::uint32_t checksum_of(void const* data, std::size_t bytes) {
  return ~remainder_of(0xffffffffU, data, bytes);
}

/// The remainder of some ranges of a sequence of bytes, as if the others were 0.
class remainder_of_ranges {
 public:
  /// The range from `begin` on; they come in order and do not overlap.
  void add(std::uint64_t begin, void const* data, std::size_t bytes) {
    if (begin != end_) remainder_ = crc_product(remainder_, power(begin - end_));
    remainder_ = remainder_of(remainder_, data, bytes);
    end_ = begin + bytes;
  }
  /// Of a sequence that ends at `size`.
  [[nodiscard]] std::uint32_t of_whole(std::uint64_t size) const {
    return crc_product(remainder_, crc_power(size - end_));
  }

 private:
  // A shard's ranges lie a few distances apart, again and again.
  std::uint32_t power(std::uint64_t bytes) {
    auto& known = known_[bytes % known_.size()];
    if (known.bytes != bytes) known = {bytes, crc_power(bytes)};
    return known.power;
  }

  struct known_power {
    std::uint64_t bytes = 0;
    std::uint32_t power = 1U << 31U;
  };
  std::array<known_power, 7> known_{};
  std::uint64_t end_ = 0;
  std::uint32_t remainder_ = 0;
};

}  // namespace mtf::detail
