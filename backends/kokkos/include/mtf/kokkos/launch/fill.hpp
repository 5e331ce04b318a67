#pragma once
// Work on each element of a dense array by itself: constants, sums of two, positions.
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

template <class T>
struct fill_body {
  T* out;
  T value;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const { out[j] = value; }
};

template <class T, class X>
struct add_body {
  T* inout;
  X const* x;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const { inout[j] = convert<T>(load(inout[j]) + load(x[j])); }
};

template <class T>
struct iota_body {
  rows r;
  index offset;
  T* out;
  KOKKOS_FUNCTION void operator()(index i) const { out[i] = convert<T>(i / r.inner % r.n + offset); }
};

struct zero_pads_body {
  primitives::zero_pads of;
  KOKKOS_FUNCTION void operator()(index i) const {
    index const pads = of.stored - of.n;
    of.inout[i / pads * of.stored + of.n + i % pads] = 0;
  }
};

template <class Exec>
void compute(device<Exec>& on, primitives::zero_pads const& p) {
  for_elements(p.name, on.exec, p.outer * (p.stored - p.n), zero_pads_body{p});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::fill<T> const& p) {
  for_elements(p.name, on.exec, p.n, fill_body<T>{p.out, p.value});
}
template <class Exec, class T, class X>
void compute(device<Exec>& on, primitives::add<T, X> const& p) {
  for_elements(p.name, on.exec, p.n, add_body<T, X>{p.inout, p.x});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::iota<T> const& p) {
  for_elements(p.name, on.exec, p.of.outer * p.of.n * p.of.inner, iota_body<T>{p.of, p.offset, p.out});
}

MTF_COMPILED(device, fill)
MTF_COMPILED(device, add)
MTF_COMPILED(device, iota)
MTF_COMPILED_ONCE(device, zero_pads)

}  // namespace mtf::kokkos
