#pragma once
// Parts of a dimension that begin where an index says.
#include <cstdint>
#include <limits>

#include <mtf/backend/primitives/parts.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// Where elements of a part lie in x: both are contiguous for each of `outer`.
struct part_place {
  index part, inner, whole, offset;  // part: part * inner elements; whole, offset: likewise of x
  std::int32_t const* start;

  /// Of element j of the part, within its `outer`, counted from the first that is here.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index within(index j) const {
    return static_cast<index>(*start) * inner + j % part - offset;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_here(index within) const { return within >= 0 && within < whole; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index in_x(index j, index within) const {
    return j / part * whole + within;
  }
};

template <class T>
struct take_part_body {
  using A = compute_t<T>;
  part_place place;
  index extent;  // extent * inner elements; 0: no bound
  T* out;
  T const* x;
  KOKKOS_FUNCTION void operator()(index j) const {
    index const at = place.within(j), global = at + place.offset;
    bool const none = extent > 0 && (global < 0 || global >= extent) && std::numeric_limits<A>::has_quiet_NaN;
    T const fill = convert<T>(none ? std::numeric_limits<A>::quiet_NaN() : A(0));  // a kernel cannot stop
    out[j] = place.is_here(at) ? x[place.in_x(j, at)] : fill;
  }
};

template <class T>
struct put_part_body {
  part_place place;
  T* x;
  T const* from;
  KOKKOS_FUNCTION void operator()(index j) const {
    index const at = place.within(j);
    if (place.is_here(at)) x[place.in_x(j, at)] = from != nullptr ? from[j] : convert<T>(compute_t<T>(0));
  }
};

template <class P>
part_place place_in(P const& p) {
  return {p.part * p.inner, p.inner, p.n * p.inner, p.offset * p.inner, p.start};
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::take_part<T> const& p) {
  for_elements(p.name, on.exec, p.outer * p.part * p.inner,
               take_part_body<T>{place_in(p), p.extent * p.inner, p.out, p.x});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::put_part<T> const& p) {
  for_elements(p.name, on.exec, p.outer * p.part * p.inner, put_part_body<T>{place_in(p), p.x, p.from});
}

MTF_COMPILED(device, take_part)
MTF_COMPILED(device, put_part)

}  // namespace mtf::kokkos
