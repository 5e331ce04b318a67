#pragma once
// A backend whose kernels do nothing: what an operation costs on it is the library's own work.
#include <mtf/kokkos.hpp>

namespace overhead {

template <class Exec>
class idle_backend : public mtf::kokkos_backend<Exec> {
 public:
  using mtf::kokkos_backend<Exec>::kokkos_backend;

#define IDLE(NAME)      \
  template <class... X> \
  void NAME(X const&...) {}
  IDLE(fill)
  IDLE(copy)
  IDLE(map)
  IDLE(add)
  IDLE(reduce)
  IDLE(contract)
  IDLE(softmax)
  IDLE(softmax_vjp)
  IDLE(log_softmax)
  IDLE(log_softmax_vjp)
  IDLE(logsumexp)
  IDLE(logsumexp_vjp)
  IDLE(cross_entropy)
  IDLE(cross_entropy_vjp)
  IDLE(take_rows)
  IDLE(add_rows)
  IDLE(dropout)
#undef IDLE
#define IDLE(NAME)                     \
  template <bool Centered, class... X> \
  void NAME(X const&...) {}
  IDLE(norm)
  IDLE(norm_vjp)
#undef IDLE
  template <class F, class Loops, class T, class... Ts>
  void map_vjp(F const&, Loops const&, std::array<mtf::backend::map_gradient, sizeof...(Ts)> const&, T const*, Ts const*...) {}
};

}  // namespace overhead
