#pragma once
// What optimizers do with one element of a parameter, as functions of numbers: new value = formula(value, gradient,
// kept). Each has its name, for plans and profiles, and the count of numbers that it keeps for an element from one step
// to the next. A new optimizer that looks at one element at a time is one such formula and a rule
// (mtf/train/optimizers.hpp).
//
// A moving mean x' = beta x + (1 - beta) y is x + rest (y - x), where rest is 1 - beta, taken in double: in float
// little is left of it where beta is near 1, and beta itself, rounded, would forget too fast or too slowly.
#include <limits>

#include <mtf/core/host_device.hpp>
#include <mtf/math/fast_math.hpp>

/// Formulas of optimizers, for one element.
namespace mtf::updates {

/// What gradients are multiplied by whose squares have this sum: min(1, limit / norm), as in PyTorch; a limit of 0
/// clips nothing. NaN where the norm is not finite, whatever the limit is.
MTF_FUNCTION double clip_factor(double square_sum, double limit) {
  double const norm = math::library_sqrt(square_sum), factor = limit / (norm + 1e-6);
  if (!(norm - norm == 0)) return std::numeric_limits<double>::quiet_NaN();
  return limit > 0 && factor < 1 ? factor : 1.0;
}

/// Adam with decoupled weight decay (Loshchilov & Hutter 2019). rest1, 2: 1 - beta; correction1, 2: 1 / (1 -
/// beta^step).
template <class A>
struct adamw {
  static constexpr char const* name = "mtf::adamw";
  static constexpr int kept = 2;
  A lr, rest1, rest2, epsilon, weight_decay, correction1, correction2;

  MTF_FUNCTION A operator()(A value, A gradient, A* k) const {
    A const first = k[0] + rest1 * (gradient - k[0]);
    A const second = k[1] + rest2 * (gradient * gradient - k[1]);
    k[0] = first;
    k[1] = second;
    A const step = first * correction1 / (math::fast_sqrt(second * correction2) + epsilon);
    return value - lr * (step + weight_decay * value);
  }
};

/// Gradient descent with momentum as PyTorch has it: the decay is in what is kept, the rate is not.
template <class A>
struct sgd {
  static constexpr char const* name = "mtf::sgd";
  static constexpr int kept = 1;
  A lr, momentum, weight_decay;

  MTF_FUNCTION A operator()(A value, A gradient, A* k) const {
    A const step = gradient + weight_decay * value + momentum * k[0];
    k[0] = step;
    return value - lr * step;
  }
};

/// Gradient descent with momentum as Mesh-TensorFlow has it: the rate is in what is kept, the decay is not.
template <class A>
struct momentum {
  static constexpr char const* name = "mtf::momentum";
  static constexpr int kept = 1;
  A lr, factor, weight_decay;

  MTF_FUNCTION A operator()(A value, A gradient, A* k) const {
    A const step = lr * gradient + factor * k[0];
    k[0] = step;
    return value - step - lr * weight_decay * value;
  }
};

/// Lion (Chen et al. 2023): the sign of a mean of gradients that leans on the last one. rest1, 2: 1 - beta.
template <class A>
struct lion {
  static constexpr char const* name = "mtf::lion";
  static constexpr int kept = 1;
  A lr, rest1, rest2, weight_decay;

  MTF_FUNCTION A operator()(A value, A gradient, A* k) const {
    A const mean = k[0] + rest1 * (gradient - k[0]);
    k[0] = k[0] + rest2 * (gradient - k[0]);
    A const sign = static_cast<A>(mean > A(0)) - static_cast<A>(mean < A(0));
    return value - lr * (sign + weight_decay * value);
  }
};

/// A moving average, whose next number comes as the gradient. rest: 1 - decay.
template <class A>
struct average {
  static constexpr char const* name = "mtf::average";
  static constexpr int kept = 0;
  A rest;

  MTF_FUNCTION A operator()(A value, A next, A* /*k*/) const { return value + rest * (next - value); }
};

}  // namespace mtf::updates
