#pragma once
// What optimizers do with one element of a parameter, as functions of numbers: new value = formula(value, gradient,
// kept). Each has its name, for plans and profiles, and the count of numbers that it keeps for an element from one step
// to the next. A new optimizer that looks at one element at a time is one such formula and a rule
// (mtf/train/optimizers.hpp).
#include <mtf/core/host_device.hpp>
#include <mtf/math/fast_math.hpp>

/// Formulas of optimizers, for one element.
namespace mtf::updates {

/// Adam with decoupled weight decay (Loshchilov & Hutter 2019). correction1, 2: 1 / (1 - beta^step).
template <class A>
struct adamw {
  static constexpr char const* name = "mtf::adamw";
  static constexpr int kept = 2;
  A lr, beta1, beta2, epsilon, weight_decay, correction1, correction2;

  MTF_FUNCTION A operator()(A value, A gradient, A* k) const {
    A const first = beta1 * k[0] + (A(1) - beta1) * gradient;
    A const second = beta2 * k[1] + (A(1) - beta2) * gradient * gradient;
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

/// Lion (Chen et al. 2023): the sign of a mean of gradients that leans on the last one.
template <class A>
struct lion {
  static constexpr char const* name = "mtf::lion";
  static constexpr int kept = 1;
  A lr, beta1, beta2, weight_decay;

  MTF_FUNCTION A operator()(A value, A gradient, A* k) const {
    A const mean = beta1 * k[0] + (A(1) - beta1) * gradient;
    k[0] = beta2 * k[0] + (A(1) - beta2) * gradient;
    A const sign = static_cast<A>(mean > A(0)) - static_cast<A>(mean < A(0));
    return value - lr * (sign + weight_decay * value);
  }
};

/// A moving average, whose next number comes as the gradient.
template <class A>
struct average {
  static constexpr char const* name = "mtf::average";
  static constexpr int kept = 0;
  A decay;

  MTF_FUNCTION A operator()(A value, A next, A* /*k*/) const { return decay * value + (A(1) - decay) * next; }
};

}  // namespace mtf::updates
