#pragma once
// Log-softmax and log-sum-exp over dense rows, whole or in pieces (row_max and row_exp_sum are in softmax.hpp).
#include <mtf/kokkos/softmax.hpp>

namespace mtf::detail {

template <class T>
struct log_softmax_body {
  using A = compute_t<T>;
  index n;
  T* y;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    T* const out = y + r * n;
    A const max = team.template max<A>(n, [=](index j) { return load(in[j]); });
    A const sum = team.template sum<A>(n, [=](index j) { return fast_exp(load(in[j]) - max); });
    A const log_sum = fast_log(sum);
    team.each(n, [=](index j) { out[j] = convert<T>(load(in[j]) - max - log_sum); });
  }
};

template <class T>
struct log_softmax_apply_body {
  using A = compute_t<T>;
  index n;
  A const* max;
  A const* sum;
  T* y;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    T* const out = y + r * n;
    A const m = max[r], log_sum = fast_log(sum[r]);
    team.each(n, [=](index j) { out[j] = convert<T>(load(in[j]) - m - log_sum); });
  }
};

/// dx = dy - exp(y) * sum(dy); the sum is taken here if `sum` is null.
template <class T>
struct log_softmax_vjp_body {
  using A = compute_t<T>;
  index n;
  A const* sum;
  T* dx;
  T const* y;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T* const out = dx + r * n;
    T const* const p = y + r * n;
    T const* const g = dy + r * n;
    A const s = sum != nullptr ? sum[r] : team.template sum<A>(n, [=](index j) { return load(g[j]); });
    team.each(n, [=](index j) { out[j] = convert<T>(load(g[j]) - fast_exp(load(p[j])) * s); });
  }
};

template <class T>
struct logsumexp_body {
  using A = compute_t<T>;
  index n;
  T* y;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    A const max = team.template max<A>(n, [=](index j) { return load(in[j]); });
    A const shift = shift_of(max);
    A const sum = team.template sum<A>(n, [=](index j) { return fast_exp(load(in[j]) - shift); });
    team.once([&] { y[r] = convert<T>(shift + fast_log(sum)); });
  }
};

template <class T>
struct logsumexp_vjp_body {
  using A = compute_t<T>;
  index n;
  T* dx;
  T const* x;
  T const* y;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T* const out = dx + r * n;
    T const* const in = x + r * n;
    A const total = load(y[r]), g = load(dy[r]);
    team.each(n, [=](index j) { out[j] = convert<T>(g * fast_exp(load(in[j]) - total)); });
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

}  // namespace mtf::detail
