#include "elementwise.hpp"

#include <cmath>

namespace define {

namespace {

// How near to a pole a function may be asked for: rounding would hide it.
number positive(tape& t, number x) {
  t.above(x, 0.05);
  return x;
}
number away_from_zero(tape& t, number x) {
  t.above(t.constant(std::abs(t.value(x)), 0, t[x].error), 0.1);
  return x;
}

// What is constant between steps; x is not to be so near to one that rounding takes it there.
number step(tape& t, number x, double value, double nearest_step) {
  t.told_apart(x, t.constant(nearest_step));
  return t.constant(value);
}

}  // namespace

number softplus(tape& t, number x) {
  double const e = std::exp(t.value(x)), slope = e / (1 + e);
  return t.function(x, std::log1p(e), slope, slope * (1 - slope));
}
number relu(tape& t, number x) { return t.sign(x) > 0 || std::isnan(t.value(x)) ? x : t.constant(0); }
number gelu(tape& t, number x) {
  number const cube = t.multiply(t.multiply(x, x), x);
  number const inner = t.scale(t.add(x, t.scale(cube, 0.044715)), std::sqrt(2 / std::acos(-1.0)));
  return t.scale(t.multiply(x, t.shift(t.tanh(inner), 1)), 0.5);
}
number silu(tape& t, number x) { return t.multiply(x, t.sigmoid(x)); }
number square(tape& t, number x) { return t.multiply(x, x); }
number reciprocal(tape& t, number x) { return t.inverse(away_from_zero(t, x)); }
number quotient(tape& t, number x, number y) { return t.divide(x, away_from_zero(t, y)); }
number log(tape& t, number x) { return t.log(positive(t, x)); }
number sqrt(tape& t, number x) { return t.sqrt(positive(t, x)); }
number rsqrt(tape& t, number x) { return t.inverse(sqrt(t, x)); }
number pow(tape& t, number x, number y) { return t.exp(t.multiply(y, log(t, x))); }
number logaddexp(tape& t, number x, number y) {
  // log(e^x + e^y) as y + log(1 + e^(x - y)): the derivative by y is a difference, 1 less that by x.
  number const apart = t.subtract(x, y);
  double const e = std::exp(t.value(apart)), slope = e / (1 + e);
  return t.add(y, t.function(apart, std::log1p(e), slope, slope * (1 - slope), 1));
}
number expm1(tape& t, number x) {
  double const e = std::exp(t.value(x));
  return t.function(x, std::expm1(t.value(x)), e, e);
}
number log1p(tape& t, number x) {
  double const slope = 1 / t.value(positive(t, t.shift(x, 1)));
  return t.function(x, std::log1p(t.value(x)), slope, -slope * slope);
}
number sine(tape& t, number x) {
  double const s = std::sin(t.value(x)), c = std::cos(t.value(x));
  return t.function(x, s, c, -s);
}
number cosine(tape& t, number x) {
  double const s = std::sin(t.value(x)), c = std::cos(t.value(x));
  return t.function(x, c, -s, -c);
}
number erf(tape& t, number x) {
  double const v = t.value(x), slope = 2 / std::sqrt(std::acos(-1.0)) * std::exp(-v * v);
  return t.function(x, std::erf(v), slope, -2 * v * slope);
}
number gelu_erf(tape& t, number x) {
  return t.multiply(x, t.scale(t.shift(erf(t, t.scale(x, std::sqrt(0.5))), 1), 0.5));
}
number selu(tape& t, number x) {
  // The constants for which mean 0 and variance 1 are kept (Klambauer et al. 2017, equation 14).
  double const pi = std::acos(-1.0), e = std::exp(1.0), root_e = std::sqrt(e), tail = std::erfc(std::sqrt(0.5)),
               alpha = -std::sqrt(2 / pi) / (tail * root_e - 1),
               more =
                   2 * std::erfc(std::sqrt(2.0)) * e * e + pi * tail * tail * e - 2 * (2 + pi) * tail * root_e + pi + 2;
  double const lambda = (1 - tail * root_e) * std::sqrt(2 * pi / more);
  return t.scale(t.sign(x) > 0 ? x : t.scale(expm1(t, x), alpha), lambda);
}
number sign(tape& t, number x) {
  double const v = t.value(x);
  return step(t, x, v > 0 ? 1 : v < 0 ? -1 : std::abs(v), 0);
}
number floor(tape& t, number x) { return step(t, x, std::floor(t.value(x)), std::round(t.value(x))); }
number ceil(tape& t, number x) { return step(t, x, std::ceil(t.value(x)), std::round(t.value(x))); }
number round(tape& t, number x) {
  double const v = t.value(x);
  return step(t, x, std::nearbyint(v), std::floor(v) + 0.5);
}
number floor_divide(tape& t, number x, number y) {
  number const q = quotient(t, x, y);
  return step(t, q, std::floor(t.value(q)), std::round(t.value(q)));
}
number remainder(tape& t, number x, number y) { return t.subtract(x, t.multiply(floor_divide(t, x, y), y)); }
number sigmoid_cross_entropy(tape& t, number x, number z) {
  number const less = softplus(t, x);
  return t.subtract(less, t.multiply(x, z));
}
number both(tape& t, number x, number y) { return t.constant(t.value(x) != 0 && t.value(y) != 0 ? 1 : 0); }
number either(tape& t, number x, number y) { return t.constant(t.value(x) != 0 || t.value(y) != 0 ? 1 : 0); }
number where(tape& t, number condition, number y, number z) { return t.value(condition) != 0 ? y : z; }

definition negated() { return scaled(-1); }
definition shifted(double n) {
  return pointwise([n](tape& t, number x) { return t.shift(x, n); });
}
definition scaled(double n) {
  return pointwise([n](tape& t, number x) { return t.scale(x, n); });
}
definition subtracted_from(double n) {
  return pointwise([n](tape& t, number x) { return t.shift(t.scale(x, -1), n); });
}
definition divided_into(double n) {
  return pointwise([n](tape& t, number x) { return t.scale(reciprocal(t, x), n); });
}
definition divided_as_integers(double n) {
  return pointwise([n](tape& t, number x) { return t.constant(std::trunc(t.value(x) / n)); });
}
definition floor_divided(double n) {
  return pointwise([n](tape& t, number x) { return floor_divide(t, x, t.constant(n)); });
}
definition remainder_of(double n) {
  return pointwise([n](tape& t, number x) { return remainder(t, x, t.constant(n)); });
}
definition exponential_linear(double alpha) {
  return pointwise([alpha](tape& t, number x) { return t.sign(x) > 0 ? x : t.scale(expm1(t, x), alpha); });
}
definition leaky(double slope) {
  return pointwise([slope](tape& t, number x) { return t.sign(x) > 0 ? x : t.scale(x, slope); });
}
definition gated(number (*of_gate)(tape&, number)) {
  return pointwise([of_gate](tape& t, number x, number gate) { return t.multiply(x, of_gate(t, gate)); });
}
definition raised(double n) {
  return pointwise([n](tape& t, number x) { return t.power(n == std::trunc(n) ? x : positive(t, x), n); });
}
definition clipped(double low, double high) {
  return pointwise([=](tape& t, number x) {
    return t.sign(t.shift(x, -low)) < 0 ? t.constant(low) : t.sign(t.shift(x, -high)) > 0 ? t.constant(high) : x;
  });
}

}  // namespace define
