#pragma once
// Row kernels that share one shape: each row of the result, or one number for each row, from the same rows of one or
// two operands, all rows of n elements that lie equally far apart. A policy says what is computed:
//   row(team, r, n, out, in...)   writes the elements of row r            (rows_body)
//   row(team, r, n, in...)        returns the number of row r             (row_numbers_body)
// `out` and `in` point to the row's first element. Numbers of which there is one per row are members of the policy.
#include <mtf/kokkos/launch/team.hpp>

namespace mtf::kokkos {

/// The operands of a row kernel.
template <class T, std::size_t Count>
struct row_operands {
  static_assert(Count == 1 || Count == 2);
  index n;
  T const* of[Count];
  index step = n;  // from row to row, of the result too

  /// row(before..., in...) with the rows r of the operands.
  template <class Row, class... Before>
  KOKKOS_FORCEINLINE_FUNCTION auto pass(Row const& row, index r, Before const&... before) const {
    if constexpr (Count == 1)
      return row(before..., of[0] + r * step);
    else
      return row(before..., of[0] + r * step, of[1] + r * step);
  }
};

template <class Row, class T, std::size_t Operands>
struct rows_body {
  Row row;
  T* out;
  row_operands<T, Operands> in;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    in.pass(row, r, team, r, in.n, out + r * in.step);
  }
};

template <class Row, class Number, class T, std::size_t Operands>
struct row_numbers_body {
  Row row;
  Number* out;
  row_operands<T, Operands> in;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    compute_t<T> const number = in.pass(row, r, team, r, in.n);
    team.once([&] { out[r] = convert<Number>(number); });
  }
};

// Reductions of a row, for policies. Inlined by force, so that a multiplication by scale 1 goes away. The lambdas too:
// if several kernels share one, GCC keeps it out of line, and does not vectorize the loop around the call.

template <class Team, class T, class A = compute_t<T>>
MTF_FUNCTION A max_of(Team const& team, index n, T const* in, A scale = 1) {
  return team.template reduce_row<max_op, A>(n, in, [=](A x) MTF_INLINE_LAMBDA { return scale * x; });
}
template <class Team, class T, class A = compute_t<T>, class... Next>
MTF_FUNCTION A exp_sum_of(Team const& team, index n, T const* in, A shift, A scale, Next const*... next) {
  return team.template reduce_row<sum_op, A>(
      n, in, [=](A x) MTF_INLINE_LAMBDA { return fast_exp_down(scale * x - shift); }, next...);
}
template <class Team, class T, class A = compute_t<T>>
MTF_FUNCTION A sum_of(Team const& team, index n, T const* in) {
  return team.template reduce_row<sum_op, A>(n, in, [](A x) MTF_INLINE_LAMBDA { return x; });
}
template <class Team, class T, class A = compute_t<T>>
MTF_FUNCTION A dot_of(Team const& team, index n, T const* a, T const* b) {
  return team.template sum<A>(n, [=](index j) MTF_INLINE_LAMBDA { return load(a[j]) * load(b[j]); });
}

/// *out += the numbers.
struct add_partials_body {
  double const* partial;
  double* out;
  index n;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index) const {
    double const* const from = partial;
    double const sum = team.template sum<double>(n, [=](index j) { return from[j]; });
    team.once([&] { *out += sum; });
  }
};

struct sum_row {
  template <class Team, class T>
  KOKKOS_FUNCTION compute_t<T> operator()(Team const& team, index, index n, T const* in) const {
    return sum_of(team, n, in);
  }
};

}  // namespace mtf::kokkos
