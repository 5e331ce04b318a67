#pragma once
// Softmax over rows that lie dense in memory (backend.hpp transposes others), whole or in the pieces that a dimension
// cut over ranks needs: maxima, sums of exponentials, and the last step from global statistics.
#include <mtf/detail/fast_math.hpp>
#include <mtf/kokkos/team.hpp>

namespace mtf::detail {

/// How many of the n elements of row r the rule leaves visible: they are the first ones.
KOKKOS_FORCEINLINE_FUNCTION constexpr index visible(causal_rule const& rule, index r, index n) {
  if (!rule.on) return n;
  index const query = r / rule.query_stride % rule.query_extent + rule.query_offset;
  index const count = query - rule.key_offset + 1;
  return count < 0 ? 0 : count < n ? count : n;
}

/// A shift that keeps exp(x - shift) finite; 0 for a row with nothing visible, whose maximum is -infinity.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION constexpr A shift_of(A max) {
  return max == max_op::neutral<A>() ? A(0) : max;
}

template <class T>
struct softmax_body {
  using A = compute_t<T>;
  index n;
  A scale;
  causal_rule rule;
  T* y;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    T* const out = y + r * n;
    index const seen = visible(rule, r, n);
    A const s = scale;
    A const shift = shift_of(team.template max<A>(seen, [=](index j) { return s * load(in[j]); }));
    A sum = 0;
    if constexpr (std::is_same_v<T, A>) {
      sum = team.template sum<A>(seen, [=](index j) { return out[j] = fast_exp(s * in[j] - shift); });
      A const factor = A(1) / sum;
      team.each(seen, [=](index j) { out[j] *= factor; });
    } else {  // storing the exponentials would round them twice
      sum = team.template sum<A>(seen, [=](index j) { return fast_exp(s * load(in[j]) - shift); });
      A const factor = A(1) / sum;
      team.each(seen, [=](index j) { out[j] = convert<T>(factor * fast_exp(s * load(in[j]) - shift)); });
    }
    T* const hidden = out + seen;
    team.each(n - seen, [=](index j) { hidden[j] = T(0); });
  }
};

template <class T>
struct softmax_vjp_body {
  using A = compute_t<T>;
  index n;
  A scale;
  T* dx;
  T const* y;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T* const out = dx + r * n;
    T const* const p = y + r * n;
    T const* const g = dy + r * n;
    A const s = scale;
    A const dot = team.template sum<A>(n, [=](index j) { return load(p[j]) * load(g[j]); });
    team.each(n, [=](index j) { out[j] = convert<T>(s * load(p[j]) * (load(g[j]) - dot)); });
  }
};

template <class T>
struct row_max_body {
  using A = compute_t<T>;
  index n;
  A scale;
  causal_rule rule;
  A* out;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    A const s = scale;
    A const max = team.template max<A>(visible(rule, r, n), [=](index j) { return s * load(in[j]); });
    team.once([&] { out[r] = max; });
  }
};

template <class T>
struct row_exp_sum_body {
  using A = compute_t<T>;
  index n;
  A scale;
  causal_rule rule;
  A const* max;
  A* out;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    A const s = scale, shift = shift_of(max[r]);
    A const sum = team.template sum<A>(visible(rule, r, n), [=](index j) { return fast_exp(s * load(in[j]) - shift); });
    team.once([&] { out[r] = sum; });
  }
};

template <class T>
struct softmax_apply_body {
  using A = compute_t<T>;
  index n;
  A scale;
  causal_rule rule;
  A const* max;
  A const* sum;
  T* y;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    T* const out = y + r * n;
    index const seen = visible(rule, r, n);
    A const s = scale, shift = shift_of(max[r]), factor = A(1) / sum[r];
    team.each(seen, [=](index j) { out[j] = convert<T>(factor * fast_exp(s * load(in[j]) - shift)); });
    T* const hidden = out + seen;
    team.each(n - seen, [=](index j) { hidden[j] = T(0); });
  }
};

/// out = sum y dy, a row.
template <class T>
struct row_dot_body {
  using A = compute_t<T>;
  index n;
  A* out;
  T const* y;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const a = y + r * n;
    T const* const b = dy + r * n;
    A const dot = team.template sum<A>(n, [=](index j) { return load(a[j]) * load(b[j]); });
    team.once([&] { out[r] = dot; });
  }
};

template <class T>
struct row_sum_body {
  using A = compute_t<T>;
  index n;
  A* out;
  T const* x;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = x + r * n;
    A const sum = team.template sum<A>(n, [=](index j) { return load(in[j]); });
    team.once([&] { out[r] = sum; });
  }
};

template <class T>
struct softmax_vjp_apply_body {
  using A = compute_t<T>;
  index n;
  A scale;
  A const* dot;
  T* dx;
  T const* y;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T* const out = dx + r * n;
    T const* const p = y + r * n;
    T const* const g = dy + r * n;
    A const s = scale, d = dot[r];
    team.each(n, [=](index j) { out[j] = convert<T>(s * load(p[j]) * (load(g[j]) - d)); });
  }
};

}  // namespace mtf::detail
