#pragma once
// The largest numbers of rows: one thread a row, which keeps those that it has found in their order.
#include <cstdint>
#include <limits>

#include <mtf/backend/primitives/top.hpp>
#include <mtf/kokkos/launch/team.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/kokkos/runtime/device.hpp>
#include <mtf/math/order.hpp>

namespace mtf::kokkos {

/// The place of x in the order, or in the reverse: all NaN are one, and the largest.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION auto top_order(T x, bool smallest = false) {
  auto const value = load(x);
  using order = decltype(math::order_of(value));
  return value != value ? std::numeric_limits<order>::max() : math::order_of(smallest ? math::reversed(value) : value);
}

template <class T>
struct top_of_rows_body {
  primitives::top_of_rows<T> p;

  KOKKOS_FUNCTION void operator()(index row) const {
    index const o = row / p.inner, i = row % p.inner, step = p.inner;
    T* const found = p.out + o * p.k * step + i;
    std::int32_t* const places = p.out_ids + o * p.k * step + i;
    index count = 0;
    for (index b = 0; b < p.blocks; ++b) {
      index const first = (b * p.outer + o) * p.n * step + i;
      for (index j = 0; j < p.n; ++j) {
        T const x = p.x[first + j * step];
        auto const id = p.ids != nullptr ? p.ids[first + j * step] : static_cast<std::int32_t>(p.offset + j);
        if (count == p.k && !is_before(x, id, found, places, p.k - 1)) continue;
        index at = count < p.k ? count++ : p.k - 1;
        for (; at > 0 && is_before(x, id, found, places, at - 1); --at) {
          found[at * step] = found[(at - 1) * step];
          places[at * step] = places[(at - 1) * step];
        }
        found[at * step] = x;
        places[at * step] = id;
      }
    }
  }

 private:
  /// Of equal ones the first in its row, wherever a split over several axes puts it among the blocks.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_before(T x, std::int32_t id, T const* found,
                                                           std::int32_t const* places, index at) const {
    auto const mine = top_order(x, p.smallest), other = top_order(found[at * p.inner], p.smallest);
    return mine > other || (mine == other && id < places[at * p.inner]);
  }
};

#if MTF_HAS_DEVICES
/// One of a row: its place in the order, its id, and where it lies.
template <class T>
struct candidate {
  decltype(top_order(T{})) order;
  std::int32_t id;
  index at;
};
/// The larger, of equal ones that with the lower id.
struct first_of_largest {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A neutral() {
    return {std::numeric_limits<decltype(A::order)>::lowest(), std::numeric_limits<std::int32_t>::max(), -1};
  }
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A of(A a, A b) {
    return b.order > a.order || (b.order == a.order && b.id < a.id) ? b : a;
  }
};
/// The largest alone, as argmax needs it: the team's threads look at a row together.
template <class T>
struct largest_of_rows_body {
  primitives::top_of_rows<T> p;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index row) const {
    auto const& q = p;
    index const o = row / q.inner, i = row % q.inner;
    auto const largest = team.template reduce<first_of_largest, candidate<T>>(q.blocks * q.n, [&q, o, i](index e) {
      index const j = e % q.n, at = ((e / q.n * q.outer + o) * q.n + j) * q.inner + i;
      auto const id = q.ids != nullptr ? q.ids[at] : static_cast<std::int32_t>(q.offset + j);
      return candidate<T>{top_order(q.x[at], q.smallest), id, at};
    });
    team.once([&] {
      if (largest.at < 0) return;
      q.out[row] = q.x[largest.at];
      q.out_ids[row] = largest.id;
    });
  }
};
#endif

template <class T>
struct top_of_rows_vjp_body {
  primitives::top_of_rows_vjp<T> p;

  KOKKOS_FUNCTION void operator()(index row) const {
    index const o = row / p.inner, i = row % p.inner, step = p.inner;
    T* const dx = p.dx + o * p.n * step + i;
    for (index j = 0; j < p.n; ++j) dx[j * step] = convert<T>(compute_t<T>(0));
    for (index c = 0; c < p.k; ++c) {
      index const from = (o * p.k + c) * step + i, at = static_cast<index>(p.ids[from]) - p.offset;
      if (at >= 0 && at < p.n) dx[at * step] = p.dy[from];
    }
  }
};

/// body(row) for each row, of `length` elements.
template <class Exec, class Body>
void for_each_row(char const* label, Exec const& exec, index rows, index length, Body const& body) {
  if constexpr (runs_on_host<Exec>)
    launch_on_host(label, exec, rows, rows * length, body);
  else
    Kokkos::parallel_for(label, range_policy<Exec>(exec, 0, rows), body);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::top_of_rows<T> const& p) {
#if MTF_HAS_DEVICES
  if constexpr (!runs_on_host<Exec>)
    if (p.k == 1) return for_rows(p.name, on.exec, p.outer * p.inner, p.blocks * p.n, largest_of_rows_body<T>{p});
#endif
  for_each_row(p.name, on.exec, p.outer * p.inner, p.blocks * p.n, top_of_rows_body<T>{p});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::top_of_rows_vjp<T> const& p) {
  for_each_row(p.name, on.exec, p.outer * p.inner, p.n, top_of_rows_vjp_body<T>{p});
}

MTF_COMPILED(device, top_of_rows)
MTF_COMPILED(device, top_of_rows_vjp)

}  // namespace mtf::kokkos
