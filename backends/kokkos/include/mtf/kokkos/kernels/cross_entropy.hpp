#pragma once
// Cross entropy of dense rows of logits with one integer label per row: loss = logsumexp(logits) - logits[label], from
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

/// The loss of a row, from its maximum, its sum of exponentials and its label's logit.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A cross_entropy_of(index label, index classes, A max, A sum, A picked) {
  return label < 0 ? A(0) : label < classes ? fast_log(sum) - (picked - max) : std::numeric_limits<A>::quiet_NaN();
}

template <class T>
struct cross_entropy_body {
  using A = compute_t<T>;
  index n;
  A* loss;
  A* max;
  A* sum;
  T const* logits;
  std::int32_t const* labels;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = logits + r * n;
    A const largest = max_of(team, n, in), total = exp_sum_of(team, n, in, largest, A(1), in + n);
    team.once([&] {
      auto const label = static_cast<index>(labels[r]);
      max[r] = largest;
      sum[r] = total;
      loss[r] = cross_entropy_of(label, n, largest, total, label >= 0 && label < n ? load(in[label]) : A(0));
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

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    using A = compute_t<T>;
    auto const global = static_cast<index>(labels[r]), label = global - class_offset;
    if (global < 0) return team.each(n, [=](index j) { out[j] = T(0); });
    A const shift = max[r], share = A(1) / sum[r],
            g = global < classes ? dloss[r] : std::numeric_limits<A>::quiet_NaN();
    A const factor = g * share;
    if constexpr (std::is_same_v<Team, host_team>) {
      bool const here = label >= 0 && label < n;
      A const of_label = here ? factor * fast_exp_down(load(in[label]) - shift) - g : A(0);
      team.each(n, [=](index j) { out[j] = convert<T>(factor * fast_exp_down(load(in[j]) - shift)); });
      if (here) out[label] = convert<T>(of_label);
    } else {
      team.each(n, [=](index j) {
        A const p = factor * fast_exp_down(load(in[j]) - shift);
        out[j] = convert<T>(j == label ? p - g : p);
      });
    }
  }
};

template <class T>
struct cross_entropy_local_body {
  using A = compute_t<T>;
  index n, count, class_offset;
  A const* max;
  A* sum_and_picked;
  T const* logits;
  std::int32_t const* labels;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = logits + r * n;
    A const sum = exp_sum_of(team, n, in, max[r], A(1), in + n);
    team.once([&] {
      auto const label = static_cast<index>(labels[r]) - class_offset;
      sum_and_picked[r] = sum;
      sum_and_picked[count + r] = label >= 0 && label < n ? load(in[label]) : A(0);
    });
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
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index r) const {
    loss[r] =
        cross_entropy_of(static_cast<index>(labels[r]), classes, max[r], sum_and_picked[r], sum_and_picked[count + r]);
  }
};

template <class Exec, class T>
void compute(device<Exec>& on, primitives::cross_entropy<T> const& p) {
  row_operand<T, Exec> const in(on, p.of, p.logits);
  cross_entropy_body<T> const body{p.of.n, p.loss, p.max, p.sum, in.get(), p.labels};
  for_rows(p.name, on.exec, p.of.count(), p.of.n, body);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::cross_entropy_vjp<T> const& p) {
  write_rows(on, p.name, p.of, cross_entropy_vjp_row<T>{p.class_offset, p.classes, p.labels, p.max, p.sum, p.dloss},
             p.dlogits, p.logits);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::cross_entropy_local<T> const& p) {
  row_operand<T, Exec> const in(on, p.of, p.logits);
  cross_entropy_local_body<T> const body{p.of.n,           p.of.count(), p.class_offset, p.max,
                                         p.sum_and_picked, in.get(),     p.labels};
  for_rows(p.name, on.exec, p.of.count(), p.of.n, body);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::cross_entropy_finish<T> const& p) {
  for_elements(p.name, on.exec, p.n,
               cross_entropy_finish_body<T>{p.n, p.classes, p.loss, p.max, p.sum_and_picked, p.labels});
}

MTF_COMPILED(device, cross_entropy)
MTF_COMPILED(device, cross_entropy_vjp)
MTF_COMPILED(device, cross_entropy_local)
MTF_COMPILED(device, cross_entropy_finish)

}  // namespace mtf::kokkos
