#pragma once
// Cross entropy of dense rows of logits with one integer label a row: loss = logsumexp(logits) - logits[label].
#include <cstdint>

#include <mtf/kokkos/softmax.hpp>

namespace mtf::detail {

template <class T>
struct cross_entropy_body {
  using A = compute_t<T>;
  index n;
  T* loss;
  A* lse;
  T const* logits;
  std::int32_t const* labels;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T const* const in = logits + r * n;
    A const max = max_of(team, n, in), sum = exp_sum_of(team, n, in, max, A(1), in + n);
    team.once([&] {
      A const total = max + fast_log(sum);
      auto const label = static_cast<index>(labels[r]);
      lse[r] = total;
      loss[r] = convert<T>(label >= 0 && label < n ? total - load(in[label]) : total);
    });
  }
};

template <class T>
struct cross_entropy_vjp_row {
  index class_offset;
  std::int32_t const* labels;
  compute_t<T> const* lse;
  T const* dloss;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r, index n, T* out, T const* in) const {
    using A = compute_t<T>;
    A const total = lse[r], g = load(dloss[r]);
    auto const label = static_cast<index>(labels[r]) - class_offset;
    team.each(n, [=](index j) {
      A const p = fast_exp_down(load(in[j]) - total);
      out[j] = convert<T>(g * (j == label ? p - A(1) : p));
    });
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
  index count;
  T* loss;
  A* lse;
  A const* max;
  A const* sum_and_picked;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index r) const {
    A const total = max[r] + fast_log(sum_and_picked[r]);
    lse[r] = total;
    loss[r] = convert<T>(total - sum_and_picked[count + r]);
  }
};

}  // namespace mtf::detail
