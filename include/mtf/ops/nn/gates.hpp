#pragma once
// Gated linear units: what feed-forward layers put between their products.
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>

namespace mtf {

/// x sigmoid(gate), element by element; where the gate is far below 0 the result and both gradients are 0. As for
/// `x / y`, x stays partial and the gate is reduced. Refused, here and below: integers and bools, what `map` refuses.
template <operand X, operand Gate>
constexpr auto glu(X const& x, Gate const& gate) {
  return map(functions::glu{}, x, gate);
}
/// x relu(gate): two operations, as a gate that is closed gets no gradient, not even of one that is no number.
template <operand X, operand Gate>
constexpr auto reglu(X const& x, Gate const& gate) {
  return x * relu(gate);
}
/// x gelu(gate), by the approximation that `gelu` is, as T5 1.1 and Gemma have it.
template <operand X, operand Gate>
constexpr auto geglu(X const& x, Gate const& gate) {
  return map(functions::geglu{}, x, gate);
}
/// x silu(gate), as Llama has it.
template <operand X, operand Gate>
constexpr auto swiglu(X const& x, Gate const& gate) {
  return map(functions::swiglu{}, x, gate);
}

}  // namespace mtf
