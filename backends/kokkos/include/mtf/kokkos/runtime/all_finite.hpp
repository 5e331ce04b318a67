#pragma once
// Whether all elements of a shard are finite.
#include <mtf/core/element.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

template <class T>
struct not_finite_body {
  T const* x;
  KOKKOS_FUNCTION void operator()(index j, index& count) const {
    if (!Kokkos::isfinite(static_cast<compute_t<T>>(x[j]))) ++count;
  }
};

template <class Exec, class T>
bool all_finite(Exec const& exec, index n, T const* x) {
  index count = 0;
  Kokkos::parallel_reduce("mtf::not_finite", range_policy<Exec>(exec, 0, n), not_finite_body<T>{x}, count);
  return count == 0;
}

}  // namespace mtf::kokkos
