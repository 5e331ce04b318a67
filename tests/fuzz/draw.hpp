#pragma once
// The numbers in a program's tensors: functions of the tensor's salt and the position, so that a program that a failure
// is printed as has the same. That program contains this text.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text_and_code.hpp"

namespace fuzz {

FUZZ_TEXT_AND_CODE(
    draw,
    // In [low, high], a multiple of 1 / steps: every element type holds it.
    inline double drawn(std::uint64_t salt, std::size_t at, double low, double high, double steps) {
      std::uint64_t z = salt * 0x9e3779b97f4a7c15ULL + (at + 1) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
      z ^= z >> 31U;
      auto const choices = static_cast<std::uint64_t>((high - low) * steps) + 1;
      return low + static_cast<double>((z >> 20U) % choices) / steps;
    }
    // What the rank with this index holds of a number, of `terms` that add up to it: large and unequal, so that a sum
    // over the wrong ranks, or one term twice, cannot pass.
    inline double term_of(double value, std::uint64_t salt, std::size_t at, int index, int terms, bool integers) {
      auto const share = [&](int i) {
        return drawn(salt + 1000003U * static_cast<std::uint64_t>(i + 1), at, -2, 2, integers ? 1 : 8);
      };
      if (index + 1 < terms) return share(index);
      for (int i = 0; i + 1 < terms; ++i) value -= share(i);
      return value;
    });

}  // namespace fuzz
