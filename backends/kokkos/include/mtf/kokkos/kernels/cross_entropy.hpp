#pragma once
// Cross entropy of rows of logits with one integer label per row: loss = logsumexp(logits) - logits[label], from
// differences to the row's maximum alone, so that what all logits of a row have in common goes away exactly. A row
// whose label is negative is ignored: loss and gradient are 0. A label beyond the classes makes both NaN: a kernel
// cannot stop.
#include <cstdint>
#include <limits>

#include <mtf/backend/primitives/cross_entropy.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/launch/row_view.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>

namespace mtf::kokkos {

template <class A>
using loss_terms = primitives::loss_terms<A>;

/// The loss of a row, from its maximum, its sum of exponentials, its label's logit and its sum of logits - max.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A cross_entropy_of(index label, index classes, A max, A sum, A picked, A below_max,
                                               loss_terms<A> const& terms) {
  if (label < 0) return A(0);
  if (label >= classes) return std::numeric_limits<A>::quiet_NaN();
  A const log_sum = fast_log(sum);
  A loss = log_sum - (picked - max);
  if (terms.smoothing != 0)
    loss = log_sum - (1 - terms.smoothing) * (picked - max) - terms.smoothing * (below_max / static_cast<A>(classes));
  if (terms.z != 0) loss += terms.z * (max + log_sum) * (max + log_sum);
  return loss;
}

/// How far a row's logits are below its maximum, together.
template <class Team, class T, class A = compute_t<T>>
MTF_FUNCTION A below_max_of(Team const& team, index n, T const* in, A max) {
  return team.template reduce_row<sum_op, A>(n, in, [=](A x) MTF_INLINE_LAMBDA { return x - max; });
}

template <class T>
struct cross_entropy_body {
  using A = compute_t<T>;
  index n, step;
  A* loss;
  A* max;
  A* sum;
  T const* logits;
  std::int32_t const* labels;
  loss_terms<A> terms;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = logits + r * step;
    A const largest = max_of(team, n, in), total = exp_sum_of(team, n, in, largest, A(1), in + step);
    A const below = terms.smoothing != 0 ? below_max_of(team, n, in, largest) : A(0);
    team.once([&] {
      auto const label = static_cast<index>(labels[r]);
      max[r] = largest;
      sum[r] = total;
      A const picked = label >= 0 && label < n ? load(in[label]) : A(0);
      loss[r] = cross_entropy_of(label, n, largest, total, picked, below, terms);
    });
  }
};

template <class T>
struct cross_entropy_vjp_row {
  index class_offset, classes;
  std::int32_t const* labels;
  compute_t<T> const* max;
  compute_t<T> const* sum;
  compute_t<T> const* dloss;
  loss_terms<compute_t<T>> terms;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    using A = compute_t<T>;
    auto const global = static_cast<index>(labels[r]), label = global - class_offset;
    if (global < 0) return team.each(n, [=](index j) { out[j] = T(0); });
    A const shift = max[r], share = A(1) / sum[r],
            g = global < classes ? dloss[r] : std::numeric_limits<A>::quiet_NaN();
    A const of_z = terms.z != 0 ? 1 + 2 * terms.z * (shift + fast_log(sum[r])) : A(1);
    A const factor = g * share * of_z, to_label = g * (1 - terms.smoothing),
            to_all = terms.smoothing != 0 ? g * terms.smoothing / static_cast<A>(classes) : A(0);
    if constexpr (std::is_same_v<Team, host_team>) {
      bool const here = label >= 0 && label < n;
      A const of_label = here ? factor * fast_exp_down(load(in[label]) - shift) - to_label - to_all : A(0);
      team.write_row(
          n, out, [=](index, A x) MTF_INLINE_LAMBDA { return factor * fast_exp_down(x - shift) - to_all; }, in);
      if (here) out[label] = convert<T>(of_label);
    } else {
      team.write_row(
          n, out,
          [=](index j, A x) {
            A const p = factor * fast_exp_down(x - shift) - to_all;
            return j == label ? p - to_label : p;
          },
          in);
    }
  }
};

template <class T>
struct cross_entropy_local_body {
  using A = compute_t<T>;
  index n, step, apart, class_offset;
  A const* max;
  A* sum_and_picked;
  T const* logits;
  std::int32_t const* labels;
  bool smoothed;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = logits + r * step;
    A const sum = exp_sum_of(team, n, in, max[r], A(1), in + step);
    A const below = smoothed ? below_max_of(team, n, in, max[r]) : A(0);
    team.once([&] {
      auto const label = static_cast<index>(labels[r]) - class_offset;
      sum_and_picked[r] = sum;
      sum_and_picked[apart + r] = label >= 0 && label < n ? load(in[label]) : A(0);
      if (smoothed) sum_and_picked[2 * apart + r] = below;
    });
  }
};

template <class A>
struct cross_entropy_rebase_body {
  index n;
  A classes;
  bool smoothed;
  A* sums;
  A const* own_max;
  A const* max;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index r) const {
    A const down = own_max[r] - max[r];
    // All of the logits here are -infinity: they are nothing beside those of other ranks.
    bool const nothing = own_max[r] == -std::numeric_limits<A>::infinity() && own_max[r] != max[r];
    sums[r] = nothing ? A(0) : own_max[r] == max[r] ? sums[r] : sums[r] * fast_exp_down(down);
    if (smoothed && classes > 0)
      sums[2 * n + r] = nothing ? down : own_max[r] == max[r] ? sums[2 * n + r] : sums[2 * n + r] + classes * down;
  }
};

template <class T>
struct cross_entropy_finish_body {
  using A = compute_t<T>;
  index count, classes;
  A* loss;
  A const* max;
  A const* sum_and_picked;
  std::int32_t const* labels;
  loss_terms<A> terms;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index r) const {
    loss[r] =
        cross_entropy_of(static_cast<index>(labels[r]), classes, max[r], sum_and_picked[r], sum_and_picked[count + r],
                         terms.smoothing != 0 ? sum_and_picked[2 * count + r] : A(0), terms);
  }
};

template <class Exec, class T>
void compute(device<Exec>& on, primitives::cross_entropy<T> const& p) {
  rows const all = with_pads(p.of);
  row_operand<T, Exec> const in(on, all, p.logits);
  cross_entropy_body<T> const body{p.of.n, all.n, p.loss, p.max, p.sum, in.get(), p.labels, p.terms};
  for_rows(p.name, on.exec, p.of.count(), p.of.n, body);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::cross_entropy_vjp<T> const& p) {
  write_rows(on, p.name, p.of,
             cross_entropy_vjp_row<T>{p.class_offset, p.classes, p.labels, p.max, p.sum, p.dloss, p.terms}, p.dlogits,
             p.logits);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::cross_entropy_local<T> const& p) {
  rows const all = with_pads(p.of);
  row_operand<T, Exec> const in(on, all, p.logits);
  cross_entropy_local_body<T> const body{p.of.n,         all.n,    p.apart != 0 ? p.apart : p.of.count(),
                                         p.class_offset, p.max,    p.sum_and_picked,
                                         in.get(),       p.labels, p.smoothed};
  for_rows(p.name, on.exec, p.of.count(), p.of.n, body);
}
template <class Exec, class A>
void compute(device<Exec>& on, primitives::cross_entropy_rebase<A> const& p) {
  for_elements(p.name, on.exec, p.n,
               cross_entropy_rebase_body<A>{p.n, static_cast<A>(p.classes), p.smoothed, p.sums, p.own_max, p.max});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::cross_entropy_finish<T> const& p) {
  for_elements(p.name, on.exec, p.n,
               cross_entropy_finish_body<T>{p.n, p.classes, p.loss, p.max, p.sum_and_picked, p.labels, p.terms});
}

MTF_COMPILED(device, cross_entropy)
MTF_COMPILED(device, cross_entropy_vjp)
MTF_COMPILED(device, cross_entropy_local)
MTF_COMPILED(device, cross_entropy_finish)

}  // namespace mtf::kokkos
