#pragma once
// How partial operands pass through an operation.
#include <cstdint>

namespace mtf {

/// In which operands an operation is linear, so that they may stay partial.
enum class linearity : std::uint8_t {
  none,            // completes every partial operand
  additive,        // f(sum x, sum y) = sum f(x, y): passes where all operands are partial
  multiplicative,  // linear in each operand by itself: passes where one operand is partial and the others do not vary
  first,           // linear in the first operand only (a division)
};

}  // namespace mtf
