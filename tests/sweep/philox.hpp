#pragma once
// Philox4x32-10 by its definition (Salmon et al. 2011, section 3.4), to check the library's random numbers with.
#include <array>
#include <cstdint>

namespace sweep {

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

}  // namespace sweep
