#pragma once
// One step of an optimizer over the elements of a parameter. Parameters are T, gradients G; state is in the compute
// type A, in which all is computed.
#include <mtf/backend/primitives/optimizer.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/math/fast_math.hpp>

namespace mtf::kokkos {

template <class T, class G>
struct adamw_body {
  using A = compute_t<T>;
  T* p;
  A* m;
  A* v;
  G const* g;
  A lr, beta1, beta2, eps, weight_decay, correction1, correction2, grad_scale;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const {
    A const grad = load(g[j]) * grad_scale;
    A const first = beta1 * m[j] + (A(1) - beta1) * grad;
    A const second = beta2 * v[j] + (A(1) - beta2) * grad * grad;
    m[j] = first;
    v[j] = second;
    A const value = load(p[j]);
    A const step = first * correction1 / (fast_sqrt(second * correction2) + eps);
    p[j] = convert<T>(value - lr * (step + weight_decay * value));
  }
};

template <class T, class G>
struct sgd_body {
  using A = compute_t<T>;
  T* p;
  A* momentum;  // null: none
  G const* g;
  A lr, momentum_factor, weight_decay, grad_scale;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const {
    A const value = load(p[j]);
    A step = load(g[j]) * grad_scale + weight_decay * value;
    if (momentum != nullptr) {
      step += momentum_factor * momentum[j];
      momentum[j] = step;
    }
    p[j] = convert<T>(value - lr * step);
  }
};

template <class Exec, class T, class G>
void compute(device<Exec>& on, primitives::adamw<T, G> const& p) {
  for_elements(p.name, on.exec, p.n,
               adamw_body<T, G>{p.p, p.m, p.v, p.g, p.lr, p.beta1, p.beta2, p.eps, p.weight_decay, p.correction1,
                                p.correction2, p.grad_scale});
}
template <class Exec, class T, class G>
void compute(device<Exec>& on, primitives::sgd<T, G> const& p) {
  for_elements(p.name, on.exec, p.n,
               sgd_body<T, G>{p.p, p.momentum, p.g, p.lr, p.momentum_factor, p.weight_decay, p.grad_scale});
}

MTF_COMPILED(device, adamw)
MTF_COMPILED(device, sgd)

}  // namespace mtf::kokkos
