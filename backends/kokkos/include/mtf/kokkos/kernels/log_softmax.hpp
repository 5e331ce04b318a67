#pragma once
// Log-softmax and log-sum-exp over dense rows: policies as in softmax.hpp, which also has the steps for a split
// dimension.
#include <mtf/backend/primitives/log_softmax.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/launch/row_view.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>

namespace mtf::kokkos {

/// y = x - max - log(sum).
template <class T>
struct log_softmax_row {
  using A = compute_t<T>;
  A const* max = nullptr;
  A const* sum = nullptr;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    A const m = max != nullptr ? max[r] : max_of(team, n, in);
    A const log_sum = fast_log(sum != nullptr ? sum[r] : exp_sum_of(team, n, in, m, A(1), in + n, out));
    team.write_row(n, out, [=](index, A x) MTF_INLINE_LAMBDA { return x - m - log_sum; }, in);
  }
};

/// dx = dy - exp(y) * sum, sum = sum(dy).
template <class T>
struct log_softmax_vjp_row {
  using A = compute_t<T>;
  A const* sum = nullptr;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* y, T const* dy) const {
    A const s = sum != nullptr ? sum[r] : sum_of(team, n, dy);
    team.write_row(n, out, [=](index, A g, A y_j) MTF_INLINE_LAMBDA { return g - fast_exp_down(y_j) * s; }, dy, y);
  }
};

template <class T>
struct logsumexp_body {
  using A = compute_t<T>;
  index n;
  T* y;
  A* max;
  A* sum;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    A const shift = shift_of(max_of(team, n, in)), total = exp_sum_of(team, n, in, shift, A(1), in + n);
    team.once([&] {
      max[r] = shift;
      sum[r] = total;
      y[r] = convert<T>(shift + fast_log(total));
    });
  }
};

/// dx = dy * exp(x - max) / sum, with one of these and one dy per row.
template <class T>
struct logsumexp_vjp_row {
  using A = compute_t<T>;
  A const* max;
  A const* sum;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    A const shift = shift_of(max[r]), factor = load(dy[r]) / sum[r];
    team.write_row(n, out, [=](index, A x) MTF_INLINE_LAMBDA { return factor * fast_exp_down(x - shift); }, in);
  }
};

template <class T>
struct logsumexp_finish_body {
  using A = compute_t<T>;
  T* y;
  A const* max;
  A const* sum;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index r) const { y[r] = convert<T>(shift_of(max[r]) + fast_log(sum[r])); }
};

template <class Exec, class T>
void compute(device<Exec>& on, primitives::log_softmax<T> const& p) {
  write_rows(on, p.name, p.of, log_softmax_row<T>{p.max, p.sum}, p.y, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::log_softmax_vjp<T> const& p) {
  write_rows(on, p.name, p.of, log_softmax_vjp_row<T>{p.sum}, p.dx, p.y, p.dy);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::logsumexp<T> const& p) {
  row_operand<T, Exec> const in(on, p.of, p.x);
  for_rows(p.name, on.exec, p.of.count(), p.of.n, logsumexp_body<T>{p.of.n, p.y, p.max, p.sum, in.get()});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::logsumexp_vjp<T> const& p) {
  write_rows(on, p.name, p.of, logsumexp_vjp_row<T>{p.max, p.sum, p.dy}, p.dx, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::logsumexp_finish<T> const& p) {
  for_elements(p.name, on.exec, p.n, logsumexp_finish_body<T>{p.y, p.max, p.sum});
}

MTF_COMPILED(device, log_softmax)
MTF_COMPILED(device, log_softmax_vjp)
MTF_COMPILED(device, logsumexp)
MTF_COMPILED(device, logsumexp_vjp)
MTF_COMPILED(device, logsumexp_finish)

}  // namespace mtf::kokkos
