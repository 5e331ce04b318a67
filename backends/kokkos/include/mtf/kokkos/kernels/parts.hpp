#pragma once
// Parts of a dimension that begin where an index says.
#include <algorithm>
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
  index each;  // 1: `start` has one for each of `outer`

  /// Of element j of the part, within its `outer`, counted from the first that is here.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index within(index j) const {
    return static_cast<index>(start[j / part * each]) * inner + j % part - offset;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_here(index within) const { return within >= 0 && within < whole; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index in_x(index j, index within) const {
    return j / part * whole + within;
  }
  /// f(j, within, n): the elements of the part in [begin, end) as runs that lie in one piece, here as in x; those
  /// before and behind what is here are runs of their own.
  template <class F>
  void for_runs(index begin, index end, F const& f) const {
    while (begin < end) {
      index const at = within(begin), last = std::min(end, (begin / part + 1) * part);
      index const bound = at < 0 ? -at : at < whole ? whole - at : last - begin;
      index const n = std::min(last - begin, bound);
      f(begin, at, n);
      begin += n;
    }
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
    bool const none = extent > 0 && (global < 0 || global >= extent);  // pads are here, and no positions
    bool const is_nan = none && std::numeric_limits<A>::has_quiet_NaN;
    T const fill = convert<T>(is_nan ? std::numeric_limits<A>::quiet_NaN() : A(0));  // a kernel cannot stop
    out[j] = !none && place.is_here(at) ? x[place.in_x(j, at)] : fill;
  }
  void run(index j, index at, index n) const {
    index copied = place.is_here(at) ? n : 0;
    if (extent > 0) copied = std::clamp<index>(extent - at - place.offset, 0, copied);
    std::copy_n(x + place.in_x(j, at), copied, out + j);
    for (index i = j + copied; i < j + n; ++i) (*this)(i);
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
  void run(index j, index at, index n) const {
    if (!place.is_here(at)) return;
    T* const to = x + place.in_x(j, at);
    if (from != nullptr)
      std::copy_n(from + j, n, to);
    else
      std::fill_n(to, n, convert<T>(compute_t<T>(0)));
  }
};

template <class Body>
struct host_part_kernel {
  Body body;
  index n;
  void operator()(index block) const {
    body.place.for_runs(block * host_grain, std::min(n, (block + 1) * host_grain),
                        [this](index j, index at, index m) { body.run(j, at, m); });
  }
};
/// Of the part's n elements.
template <class Exec, class Body>
void for_part(char const* label, Exec const& exec, index n, Body const& body) {
  if (n == 0) return;
  if constexpr (runs_on_host<Exec>)
    launch_on_host(label, exec, ceil_div(n, host_grain), n, host_part_kernel<Body>{body, n});
  else
    for_elements(label, exec, n, body);
}

template <class P>
part_place place_in(P const& p) {
  return {p.part * p.inner, p.inner, p.n * p.inner, p.offset * p.inner, p.start, p.each};
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::take_part<T> const& p) {
  for_part(p.name, on.exec, p.outer * p.part * p.inner, take_part_body<T>{place_in(p), p.extent * p.inner, p.out, p.x});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::put_part<T> const& p) {
  for_part(p.name, on.exec, p.outer * p.part * p.inner, put_part_body<T>{place_in(p), p.x, p.from});
}

MTF_COMPILED(device, take_part)
MTF_COMPILED(device, put_part)

}  // namespace mtf::kokkos
