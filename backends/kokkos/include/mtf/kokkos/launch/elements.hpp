#pragma once
// Kernels over the elements of dense arrays: body(j) for j in [0, n).
#include <mtf/kokkos/launch/nest.hpp>

namespace mtf::kokkos {

template <class Body>
struct host_element_kernel {
  Body body;
  index n;
  void operator()(index block) const {
    Body const b = body;
    index const begin = block * host_grain, end = std::min(n, begin + host_grain);
    MTF_SIMD
    for (index j = begin; j < end; ++j) b(j);
  }
};

/// The body is a class with a KOKKOS_FUNCTION call operator; its calls are independent of each other.
template <class Exec, class Body>
void for_elements(char const* label, Exec const& exec, index n, Body const& body) {
  if (n == 0) return;
  if constexpr (runs_on_host<Exec>)
    launch_on_host(label, exec, ceil_div(n, host_grain), n, host_element_kernel<Body>{body, n});
  else
    Kokkos::parallel_for(label, range_policy<Exec>(exec, 0, n), body);
}

}  // namespace mtf::kokkos
