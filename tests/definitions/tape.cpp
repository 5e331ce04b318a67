#include "tape.hpp"

#include <algorithm>
#include <cmath>

namespace define {

// Functions of the library may be some units in the last place from the right value.
constexpr double of_function = 4;
// Bounds are to first order: a decision must be further away than some of them.
constexpr double decided_by = 16;

number tape::constant(double value, double magnitude, double rounding) {
  magnitude = std::max(std::abs(value), magnitude);  // NaN if it is
  return push({.value = value, .error = rounding * magnitude, .magnitude = magnitude});
}
number tape::add(number x, number y) {
  auto const &a = nodes_[x], &b = nodes_[y];
  double const magnitude = a.magnitude + b.magnitude;
  return push({.value = a.value + b.value,
               .error = a.error + b.error + inside_ * magnitude,
               .magnitude = magnitude,
               .rounding = inside_,
               .from = {x, y},
               .slope = {1, 1},
               .slope_magnitude = {1, 1},
               .parents = 2});
}
number tape::subtract(number x, number y) { return add(x, scale(y, -1)); }
number tape::multiply(number x, number y) {
  auto const &a = nodes_[x], &b = nodes_[y];
  double const magnitude = a.magnitude * b.magnitude;
  return push(
      {.value = a.value * b.value,
       .error = std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error + inside_ * magnitude,
       .magnitude = magnitude,
       .rounding = inside_,
       .from = {x, y},
       .slope = {b.value, a.value},
       .slope_error = {b.error, a.error},
       .slope_magnitude = {b.magnitude, a.magnitude},
       .parents = 2});
}
number tape::scale(number x, double factor) {
  auto const& a = nodes_[x];
  double const size = std::abs(factor);
  return push({.value = a.value * factor,
               .error = size * (a.error + inside_ * a.magnitude),
               .magnitude = size * a.magnitude,
               .rounding = inside_,
               .from = {x},
               .slope = {factor},
               .slope_magnitude = {size},
               .parents = 1});
}
number tape::function(number x, double value, double slope, double curvature, double slope_terms) {
  auto const& a = nodes_[x];
  double const rounding = of_function * inside_;
  return push({.value = value,
               .error = std::abs(slope) * (a.error + rounding * std::abs(a.value)) + rounding * std::abs(value),
               .magnitude = std::abs(value),
               .rounding = rounding,
               .from = {x},
               .slope = {slope},
               .slope_error = {std::abs(curvature) * (a.error + rounding * std::abs(a.value)) + rounding * slope_terms},
               .slope_magnitude = {std::abs(slope)},
               .parents = 1});
}
number tape::stopped(number x) {
  node n = nodes_[x];
  n.parents = 0;
  n.rounding = 0;
  return push(n);
}
number tape::store(number x) {
  auto const& a = nodes_[x];
  return push({.value = a.value,
               .error = a.error + stored_ * a.magnitude,
               .magnitude = a.magnitude,
               .rounding = stored_,
               .from = {x},
               .slope = {1},
               .slope_magnitude = {1},
               .parents = 1});
}
number tape::rounded(number x, double (*f)(double)) {
  auto const& a = nodes_[x];
  double const value = f(a.value);
  return push({.value = value,
               .error = a.error + std::abs(value - a.value),
               .magnitude = a.magnitude,
               .from = {x},
               .slope = {1},
               .slope_magnitude = {1},
               .rounds = f,
               .parents = 1});
}
number tape::sum(std::span<number const> x) {
  number s = x.empty() ? constant(0) : x[0];
  for (std::size_t i = 1; i < x.size(); ++i) s = add(s, x[i]);
  return s;
}
number tape::exp(number x) {
  double const y = std::exp(nodes_[x].value);
  return function(x, y, y, y);
}
number tape::log(number x) {
  double const v = nodes_[x].value;
  return function(x, std::log(v), 1 / v, -1 / (v * v));
}
number tape::sqrt(number x) {
  double const y = std::sqrt(nodes_[x].value);
  return function(x, y, 0.5 / y, -0.25 / (y * y * y));
}
number tape::tanh(number x) {
  double const y = std::tanh(nodes_[x].value), slope = 1 - y * y;
  return function(x, y, slope, -2 * y * slope, 1 + y * y);
}
number tape::sigmoid(number x) {
  double const y = 1 / (1 + std::exp(-nodes_[x].value)), slope = y * (1 - y);
  return function(x, y, slope, slope * (1 - 2 * y), y);
}
number tape::inverse(number x) {
  double const y = 1 / nodes_[x].value;
  return function(x, y, -y * y, 2 * y * y * y);
}
number tape::power(number x, double n) {
  double const v = nodes_[x].value;
  return function(x, std::pow(v, n), n * std::pow(v, n - 1), n * (n - 1) * std::pow(v, n - 2));
}
int tape::sign(number x) {
  auto const& a = nodes_[x];
  if (a.error > 0 && std::abs(a.value) <= decided_by * a.error) undecided_ = true;
  return a.value > 0 ? 1 : a.value < 0 ? -1 : 0;
}
void tape::told_apart(number x, number y) {
  auto const &a = nodes_[x], &b = nodes_[y];
  double const error = a.error + b.error;
  if (error > 0 && std::abs(a.value - b.value) <= decided_by * error) undecided_ = true;
  // Which zero a sum or a product has, its order and its first term decide.
  if (inside_ > 0 && a.value == 0 && b.value == 0 && std::signbit(a.value) != std::signbit(b.value)) undecided_ = true;
}
void tape::above(number x, double least) {
  auto const& a = nodes_[x];
  if (!(a.value - decided_by * a.error > least)) undecided_ = true;
}
number tape::larger(number x, number y) {
  int const which = sign(subtract(x, y));
  return which > 0 ? x : which < 0 ? y : scale(add(x, y), 0.5);
}
number tape::largest(std::span<number const> x) {
  std::size_t most = 0;
  for (std::size_t i = 1; i < x.size(); ++i)
    if (!std::isnan(value(x[most])) && !(value(x[i]) <= value(x[most]))) most = i;
  number y = x[most];
  if (std::isnan(value(y))) return stopped(y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i == most) continue;
    told_apart(x[i], x[most]);
    if (value(x[i]) != value(x[most])) continue;
    auto const &a = nodes_[y], &b = nodes_[x[i]];
    y = push({.value = a.value,
              .error = std::max(a.error, b.error),
              .magnitude = std::max(a.magnitude, b.magnitude),
              .from = {y, x[i]},
              .slope = {1, 1},
              .slope_magnitude = {1, 1},
              .parents = 2});
  }
  return y;
}
number tape::abs(number x) { return scale(x, sign(x)); }
number tape::truncated(number x) {
  auto const a = nodes_[x];
  if (a.error > 0 && std::abs(a.value - std::round(a.value)) <= decided_by * a.error) undecided_ = true;
  return constant(std::trunc(a.value));
}

void tape::backward(number x) {
  for (auto& n : nodes_) n.derivative = n.derivative_error = n.derivative_magnitude = 0, n.reached = false;
  nodes_[x].derivative = nodes_[x].derivative_magnitude = 1;
  nodes_[x].reached = true;
  for (number i = x + 1; i-- > 0;) {
    node const& n = nodes_[i];
    if (!n.reached) continue;
    double const derivative = n.rounds != nullptr ? n.rounds(n.derivative) : n.derivative;
    double const error = n.derivative_error + std::abs(derivative - n.derivative);
    for (std::size_t k = 0; k < static_cast<std::size_t>(n.parents); ++k) {
      node& p = nodes_[n.from[k]];
      double const size = n.slope_magnitude[k];
      p.reached = true;
      p.derivative += n.slope[k] * derivative;
      p.derivative_magnitude += size * n.derivative_magnitude;
      p.derivative_error += std::abs(n.slope[k]) * error + n.slope_error[k] * n.derivative_magnitude +
                            n.rounding * size * n.derivative_magnitude;
    }
  }
}

}  // namespace define
