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
definition raised(double n) {
  return pointwise([n](tape& t, number x) { return t.power(n == std::trunc(n) ? x : positive(t, x), n); });
}
definition clipped(double low, double high) {
  return pointwise([=](tape& t, number x) {
    return t.sign(t.shift(x, -low)) < 0 ? t.constant(low) : t.sign(t.shift(x, -high)) > 0 ? t.constant(high) : x;
  });
}

}  // namespace define
