#pragma once
// Functions of elements that the tape (tape.hpp) does not have itself.
#include "definition.hpp"

namespace define {

number softplus(tape&, number x);
number relu(tape&, number x);
/// By the hyperbolic tangent.
number gelu(tape&, number x);
number silu(tape&, number x);
number square(tape&, number x);
/// x is not to be near 0.
number reciprocal(tape&, number x);
/// So too y.
number quotient(tape&, number x, number y);
/// x is to be positive, and not near 0.
number log(tape&, number x);
number sqrt(tape&, number x);
number rsqrt(tape&, number x);
/// For x > 0.
number pow(tape&, number x, number y);
number logaddexp(tape&, number x, number y);
number expm1(tape&, number x);
/// For x > -1.
number log1p(tape&, number x);
number sine(tape&, number x);
number cosine(tape&, number x);
number erf(tape&, number x);
/// By the error function.
number gelu_erf(tape&, number x);
number selu(tape&, number x);
// Whose gradients are 0.
number sign(tape&, number x);
number floor(tape&, number x);
number ceil(tape&, number x);
/// To even.
number round(tape&, number x);
/// Rounded down; y is not to be near 0.
number floor_divide(tape&, number x, number y);
number remainder(tape&, number x, number y);
number sigmoid_cross_entropy(tape&, number x, number z);
/// Of what is not 0.
number both(tape&, number x, number y);
number either(tape&, number x, number y);
/// z where the condition does not hold.
number where(tape&, number condition, number y, number z);

definition negated();
/// x + n, x * n.
definition shifted(double n);
definition scaled(double n);
/// n - x, n / x.
definition subtracted_from(double n);
definition divided_into(double n);
/// Integers, whose quotients are truncated.
definition divided_as_integers(double n);
definition floor_divided(double n);
definition remainder_of(double n);
definition exponential_linear(double alpha);
definition leaky(double slope);
/// x times what the function makes of the gate.
definition gated(number (*of_gate)(tape&, number));
/// For x > 0 where n is not whole.
definition raised(double n);
definition clipped(double low, double high);

/// Whether it holds for two numbers, as std::less<>{} says: 1 or 0.
template <class Holds>
definition compared(Holds holds) {
  return pointwise([holds](tape& t, number x, number y) {
    t.told_apart(x, y);
    return t.constant(holds(t.value(x), t.value(y)) ? 1 : 0);
  });
}
template <class Holds>
definition compared(Holds holds, double n) {
  return pointwise([holds, n](tape& t, number x) {
    t.told_apart(x, t.constant(n));
    return t.constant(holds(t.value(x), n) ? 1 : 0);
  });
}

}  // namespace define
