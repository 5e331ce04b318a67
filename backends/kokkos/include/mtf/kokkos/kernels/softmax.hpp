#pragma once
// Softmax over dense rows (launch/row_view.hpp transposes others): in one kernel, or in the steps that a dimension
// split over ranks needs: maxima, sums of exponentials, and the last step from global statistics. They are policies of
// row kernels (launch/row_kernels.hpp). If a policy's statistics are null, it computes those of the row that it sees.
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>
#include <mtf/kokkos/launch/row_view.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>

namespace mtf::kokkos {

/// Calls f(begin, count) for the visible elements of a row, which are one run or two.
template <class F>
MTF_FUNCTION void each_run(visible_range const& seen, F f) {
  // A loop, so that what f does is in the kernel once.
  for (int run = seen.prefix > 0 ? 0 : 1; run < 2; ++run) {
    index const begin = run == 0 ? 0 : seen.first;
    f(begin, run == 0 ? seen.prefix : seen.last - begin);
  }
}
/// Op over f(begin, count) of the runs.
template <class Op, class A, class F>
MTF_FUNCTION A over_runs(visible_range const& seen, F f) {
  A all = Op::template neutral<A>();
  each_run(seen, [&](index begin, index count) MTF_INLINE_LAMBDA { all = Op::of(all, f(begin, count)); });
  return all;
}
/// out = 0 where a row of n elements is hidden.
template <class Team, class T>
MTF_FUNCTION void hide(Team const& team, visible_range const& seen, index n, T* out) {
  T *const between = out + seen.prefix, *const after = out + seen.last;
  if (seen.first > seen.prefix) team.each(seen.first - seen.prefix, [=](index j) { between[j] = T(0); });
  team.each(n - seen.last, [=](index j) { after[j] = T(0); });
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
  visible_rows seen;

  template <class Team>
  KOKKOS_FUNCTION A operator()(Team const& team, index r, index n, T const* in) const {
    return over_runs<max_op, A>(seen(r, n), [=, this](index begin, index count)
                                                MTF_INLINE_LAMBDA { return max_of(team, count, in + begin, scale); });
  }
};

/// The sum of exp(scale * x - max) over the visible elements.
template <class T>
struct exp_sum_row {
  using A = compute_t<T>;
  A scale;
  visible_rows seen;
  A const* max;

  template <class Team>
  KOKKOS_FUNCTION A operator()(Team const& team, index r, index n, T const* in) const {
    A const s = scale, shift = shift_of(max[r]);
    return over_runs<sum_op, A>(seen(r, n), [=](index begin, index count) MTF_INLINE_LAMBDA {
      return exp_sum_of(team, count, in + begin, shift, s, in + begin + n);
    });
  }
};

/// y = exp(scale * x - max) / sum over the visible elements, 0 elsewhere.
template <class T>
struct softmax_row {
  using A = compute_t<T>;
  A scale;
  visible_rows seen;
  A const* max = nullptr;
  A const* sum = nullptr;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    visible_range const range = seen(r, n);
    hide(team, range, n, out);
    A const s = scale;
    A const shift =
        shift_of(max != nullptr ? max[r] : over_runs<max_op, A>(range, [=](index begin, index count) MTF_INLINE_LAMBDA {
          return max_of(team, count, in + begin, s);
        }));
    if constexpr (std::is_same_v<T, A>) {  // storing the exponentials in a narrower type would round them twice
      if (sum == nullptr) {
        A const total = over_runs<sum_op, A>(range, [=](index begin, index count) MTF_INLINE_LAMBDA {
          T const* const x = in + begin;
          T* const y = out + begin;
          return team.template sum<A>(
              count, [=](index j) MTF_INLINE_LAMBDA { return y[j] = fast_exp_down(s * x[j] - shift); }, x + n, y + n);
        });
        A const factor = A(1) / total;
        return each_run(range, [=](index begin, index count) MTF_INLINE_LAMBDA {
          T* const y = out + begin;
          team.each(count, [=](index j) MTF_INLINE_LAMBDA { y[j] *= factor; });
        });
      }
    }
    A const factor =
        A(1) / (sum != nullptr ? sum[r] : over_runs<sum_op, A>(range, [=](index begin, index count) MTF_INLINE_LAMBDA {
          return exp_sum_of(team, count, in + begin, shift, s, in + begin + n, out + begin);
        }));
    each_run(range, [=](index begin, index count) MTF_INLINE_LAMBDA {
      team.write_row(
          count, out + begin, [=](index, A x) MTF_INLINE_LAMBDA { return factor * fast_exp_down(s * x - shift); },
          in + begin);
    });
  }
};

/// The sum of y dy over the visible elements.
struct dot_row {
  visible_rows seen;

  template <class Team, class T>
  KOKKOS_FUNCTION compute_t<T> operator()(Team const& team, index r, index n, T const* y, T const* dy) const {
    return over_runs<sum_op, compute_t<T>>(seen(r, n), [=](index begin, index count) MTF_INLINE_LAMBDA {
      return dot_of(team, count, y + begin, dy + begin);
    });
  }
};

/// dx = scale * y * (dy - dot), dot = sum(y dy); 0 where y is, in what is hidden, which need not be read.
template <class T>
struct softmax_vjp_row {
  using A = compute_t<T>;
  A scale;
  A const* dot = nullptr;
  visible_rows seen;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* y, T const* dy) const {
    visible_range const range = seen(r, n);
    hide(team, range, n, out);
    A const s = scale;
    A const d = dot != nullptr ? dot[r] : dot_row{seen}(team, r, n, y, dy);
    each_run(range, [=](index begin, index count) MTF_INLINE_LAMBDA {
      team.write_row(
          count, out + begin, [=](index, A p, A g) MTF_INLINE_LAMBDA { return s * p * (g - d); }, y + begin,
          dy + begin);
    });
  }
};

template <class Exec, class T>
void compute(device<Exec>& on, primitives::softmax<T> const& p) {
  write_rows(on, p.name, p.of, softmax_row<T>{p.scale, p.seen, p.max, p.sum}, p.y, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::softmax_vjp<T> const& p) {
  write_rows(on, p.name, p.of, softmax_vjp_row<T>{p.scale, p.dot, p.seen}, p.dx, p.y, p.dy);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::row_max<T> const& p) {
  number_rows(on, p.name, p.of, max_row<T>{p.scale, p.seen}, p.out, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::row_exp_sum<T> const& p) {
  number_rows(on, p.name, p.of, exp_sum_row<T>{p.scale, p.seen, p.max}, p.sum, p.x);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::row_dot<T> const& p) {
  number_rows(on, p.name, p.of, dot_row{p.seen}, p.out, p.y, p.dy);
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
