#pragma once
// How sums that are not taken yet pass through a function.
#include <cstdint>

namespace mtf {

/// Where an operation is linear, as far as sums may pass through it.
enum class linearity : std::uint8_t {
  none,            // completes every partial operand
  additive,        // f(sum x, sum y) = sum f(x, y): passes where all operands are partial
  multiplicative,  // linear in each operand by itself: passes where one operand is partial and the others do not vary
  first,           // linear in the first operand only (a division)
};

}  // namespace mtf
