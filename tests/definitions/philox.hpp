#pragma once
// Philox4x32-10 by its definition (Salmon et al. 2011, section 3.4), to check the library's random numbers with.
#include <array>
#include <cmath>
#include <cstdint>

namespace define {

inline std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter, std::uint32_t draw) {
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32U), draw,
                                 0};
  std::array<std::uint32_t, 2> k{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)};
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const p0 = std::uint64_t{0xD2511F53U} * c[0], p1 = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32U) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32U) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += 0x9E3779B9U;
    k[1] += 0xBB67AE85U;
  }
  return c;
}

/// In [0, 1), of 52 bits of two words.
inline double unit(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((std::uint64_t{high} << 32U | low) >> 12U) * 0x1p-52;
}
inline double uniform_at(std::uint64_t key, std::uint64_t counter) {
  auto const w = philox(key, counter, 0);
  return unit(w[0], w[1]);
}
/// Box and Muller.
inline double normal_at(std::uint64_t key, std::uint64_t counter, std::uint32_t draw = 0) {
  auto const w = philox(key, counter, draw);
  return std::sqrt(-2 * std::log(1 - unit(w[0], w[1]))) * std::cos(2 * 3.14159265358979323846 * unit(w[2], w[3]));
}
/// Drawn again beyond two standard deviations.
inline double truncated_normal_at(std::uint64_t key, std::uint64_t counter) {
  std::uint32_t draw = 0;
  double z = normal_at(key, counter, draw);
  while (std::fabs(z) > 2) z = normal_at(key, counter, ++draw);
  return z;
}

}  // namespace define
