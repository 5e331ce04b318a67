#pragma once
// One step of an optimizer. corrections: 1 / (1 - beta^step); gradients are multiplied by grad_scale first.
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// Adam with decoupled weight decay, of gradients of type G.
template <class T, class G = T>
struct adamw {
  static constexpr char const* name = "mtf::adamw";
  using A = compute_t<T>;
  index n;
  T* p;
  A* m;
  A* v;
  G const* g;
  A lr, beta1, beta2, eps, weight_decay, correction1, correction2, grad_scale;

  [[nodiscard]] constexpr double bytes() const {
    return 2 * bytes_moved<T>(n) + bytes_moved<G>(n) + 4 * bytes_moved<A>(n);
  }
};

/// Gradient descent, of gradients of type G; momentum may be null.
template <class T, class G = T>
struct sgd {
  static constexpr char const* name = "mtf::sgd";
  using A = compute_t<T>;
  index n;
  T* p;
  A* momentum;
  G const* g;
  A lr, momentum_factor, weight_decay, grad_scale;

  [[nodiscard]] constexpr double bytes() const {
    return 2 * bytes_moved<T>(n) + bytes_moved<G>(n) + (momentum == nullptr ? 0 : 2) * bytes_moved<A>(n);
  }
};

}  // namespace mtf::primitives
