#pragma once
// Attention. On the host in blocks (blocks.hpp); on devices as on_devices.hpp says.
#include <mtf/backend/primitives/attention.hpp>
#include <mtf/kokkos/gemm/contract.hpp>

#if MTF_HAS_DEVICES
#include <mtf/kokkos/attention/on_devices.hpp>
#endif
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
#include <mtf/kokkos/attention/bias.hpp>
#include <mtf/kokkos/attention/blocks.hpp>
#include <mtf/kokkos/attention/pairs.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#endif

namespace mtf::kokkos {

/// On devices max and sum are written where they are asked for.
template <class Exec, class T>
void compute(resources<Exec>& on, primitives::attention<T> const& x) {
  if constexpr (runs_on_host<Exec>) {
    auto const with = [&](auto const& tasks) { do_attention_tasks(x.name, on, tasks); };
    index const workers = on.exec.concurrency();
#if MTF_PAIR_PRODUCTS
    if constexpr (std::is_same_v<T, bfloat16>)
      if (auto const unit = fastest_pair_unit(); unit != pair_unit::none)
        return with(
            attention_forward_in_pairs(unit, x.of, x.scale, workers, x.out, x.max, x.sum, x.q, x.k, x.v, x.bias));
#endif
    with(attention_forward_in_blocks<T>(x.of, x.scale, workers, x.out, x.max, x.sum, x.q, x.k, x.v, x.bias));
  } else {
    attention_on_device(on, x);
  }
}

template <class Exec, class T>
void compute(resources<Exec>& on, primitives::attention_vjp<T> const& x) {
  if constexpr (runs_on_host<Exec>) {
    auto const with = [&](auto const& tasks) { do_attention_vjp(on, tasks); };
    index const workers = on.exec.concurrency();
#if MTF_PAIR_PRODUCTS
    if constexpr (std::is_same_v<T, bfloat16>)
      if (auto const unit = fastest_pair_unit(); unit != pair_unit::none)
        return with(attention_backward_in_pairs(unit, x.of, x.scale, workers, x.dq, x.dk, x.dv, x.q, x.k, x.v, x.out,
                                                x.max, x.sum, x.dout, x.bias, x.dot));
#endif
    with(attention_backward_in_blocks<T>(x.of, x.scale, workers, x.dq, x.dk, x.dv, x.q, x.k, x.v, x.out, x.max, x.sum,
                                         x.dout, x.bias, x.dot));
  } else {
    attention_on_device(on, x);
  }
}

template <class Exec, class T>
void compute(resources<Exec>& on, primitives::attention_bias_vjp<T> const& x) {
  if constexpr (runs_on_host<Exec>) {
    do_attention_tasks(x.name, on, attention_bias_backward<T>(on.exec.concurrency(), x));
  } else {
    attention_on_device(on, x);
  }
}

MTF_COMPILED(resources, attention)
MTF_COMPILED(resources, attention_vjp)
MTF_COMPILED(resources, attention_bias_vjp)

}  // namespace mtf::kokkos
