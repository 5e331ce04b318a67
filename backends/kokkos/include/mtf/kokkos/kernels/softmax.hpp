#pragma once
// Softmax over dense rows (launch/row_view.hpp transposes others): in one kernel, or in the steps that a dimension
// split over ranks needs: maxima, sums of exponentials, and the last step from global statistics. They are policies of
// row kernels (launch/row_kernels.hpp). If a policy's statistics are null, it computes those of the row that it sees.
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>
#include <mtf/kokkos/launch/row_view.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>

namespace mtf::kokkos {

/// How many of the n elements of row r are visible under the rule; they are the first ones.
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

/// The largest visible scale * x.
template <class T>
struct max_row {
  using A = compute_t<T>;
  A scale;
  causal_rule rule;

  template <class Team>
  KOKKOS_FUNCTION A operator()(Team const& team, index r, index n, T const* in) const {
    return max_of(team, visible(rule, r, n), in, scale);
  }
};

/// The sum of exp(scale * x - max) over the visible elements.
template <class T>
struct exp_sum_row {
  using A = compute_t<T>;
  A scale;
  causal_rule rule;
  A const* max;

  template <class Team>
  KOKKOS_FUNCTION A operator()(Team const& team, index r, index n, T const* in) const {
    return exp_sum_of(team, visible(rule, r, n), in, shift_of(max[r]), scale, in + n);
  }
};

/// y = exp(scale * x - max) / sum over the visible elements, 0 elsewhere.
template <class T>
struct softmax_row {
  using A = compute_t<T>;
  A scale;
  causal_rule rule;
  A const* max = nullptr;
  A const* sum = nullptr;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    index const seen = visible(rule, r, n);
    T* const hidden = out + seen;
    team.each(n - seen, [=](index j) { hidden[j] = T(0); });
    A const s = scale, shift = shift_of(max != nullptr ? max[r] : max_of(team, seen, in, s));
    if constexpr (std::is_same_v<T, A>) {  // storing the exponentials in a narrower type would round them twice
      if (sum == nullptr) {
        A const total = team.template sum<A>(
            seen, [=](index j) { return out[j] = fast_exp_down(s * in[j] - shift); }, in + n, out + n);
        A const factor = A(1) / total;
        return team.each(seen, [=](index j) { out[j] *= factor; });
      }
    }
    A const factor = A(1) / (sum != nullptr ? sum[r] : exp_sum_of(team, seen, in, shift, s, in + n, out));
    team.each(seen, [=](index j) { out[j] = convert<T>(factor * fast_exp_down(s * load(in[j]) - shift)); });
  }
};

/// dx = scale * y * (dy - dot), dot = sum(y dy); 0 where y is, in what the rule hides.
template <class T>
struct softmax_vjp_row {
  using A = compute_t<T>;
  A scale;
  A const* dot = nullptr;
  causal_rule rule{};

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* y, T const* dy) const {
    index const seen = visible(rule, r, n);
    T* const hidden = out + seen;
    team.each(n - seen, [=](index j) { hidden[j] = T(0); });
    A const s = scale, d = dot != nullptr ? dot[r] : dot_of(team, seen, y, dy);
    team.each(seen, [=](index j) { out[j] = convert<T>(s * load(y[j]) * (load(dy[j]) - d)); });
  }
};

template <class Exec, class T>
void compute(device<Exec>& on, primitives::softmax<T> const& p) {
  write_rows(on, p.name, p.of, softmax_row<T>{p.scale, p.visible, p.max, p.sum}, p.y, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::softmax_vjp<T> const& p) {
  write_rows(on, p.name, p.of, softmax_vjp_row<T>{p.scale, p.dot}, p.dx, p.y, p.dy);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::row_max<T> const& p) {
  number_rows(on, p.name, p.of, max_row<T>{p.scale, p.visible}, p.out, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::row_exp_sum<T> const& p) {
  number_rows(on, p.name, p.of, exp_sum_row<T>{p.scale, p.visible, p.max}, p.sum, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::row_dot<T> const& p) {
  number_rows(on, p.name, p.of, dot_row{}, p.out, p.y, p.dy);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::row_sum<T> const& p) {
  number_rows(on, p.name, p.of, sum_row{}, p.out, p.x);
}

MTF_COMPILED(device, softmax)
MTF_COMPILED(device, softmax_vjp)
MTF_COMPILED(device, row_max)
MTF_COMPILED(device, row_exp_sum)
MTF_COMPILED(device, row_dot)
MTF_COMPILED(device, row_sum)

}  // namespace mtf::kokkos
