#pragma once
// Rows in order: merges of ever longer runs, in two arrays of elements' keys and positions. On the host a thread sorts
// a row. On a device each element finds its place in a merge by itself: its place in its own run and, by bisection, how
// many of the other run come before it.
#include <algorithm>
#include <cstdint>
#include <limits>

#include <mtf/backend/primitives/sort.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/kokkos/runtime/device.hpp>
#include <mtf/math/order.hpp>

namespace mtf::kokkos {

template <class T>
using sort_key_t = math::order_t<compute_t<T>>;
/// All NaN are one, and the largest; 0 and -0 are one.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION sort_key_t<T> sort_key(T x) {
  using A = compute_t<T>;
  A const value = load(x);
  if (value != value) return std::numeric_limits<sort_key_t<T>>::max();
  return math::order_of(value == A(0) ? A(0) : value);
}
template <class Key>
struct sort_item {
  Key key;
  std::int32_t id;
};

/// Rows, and their items: a row's are neighbours, whatever its elements are.
template <class T>
struct sorted_rows {
  using item = sort_item<sort_key_t<T>>;
  rows of;
  T const* x;

  /// Element j of a row, in memory.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index at(index row, index j) const {
    return row / of.inner * of.step() + j * of.inner + row % of.inner;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION item item_of(index row, index j) const {
    return {sort_key(x[at(row, j)]), static_cast<std::int32_t>(j)};
  }
  KOKKOS_FORCEINLINE_FUNCTION void put(index row, index j, item const& found, T* out, std::int32_t* ids) const {
    index const to = at(row, j);
    if (out != nullptr) out[to] = x[at(row, found.id)];
    if (ids != nullptr) ids[to] = found.id;
  }
};

template <class T>
struct host_sort_kernel {
  using item = typename sorted_rows<T>::item;
  static constexpr index first_run = 16;
  sorted_rows<T> rows;
  T* out;
  std::int32_t* ids;
  item *one, *two;

  void operator()(index row) const {
    index const n = rows.of.n;
    item *from = one + row * n, *to = two + row * n;
    for (index j = 0; j < n; ++j) {
      item const next = rows.item_of(row, j);
      index at = j;
      for (; at % first_run != 0 && next.key < from[at - 1].key; --at) from[at] = from[at - 1];
      from[at] = next;
    }
    for (index run = first_run; run < n; run *= 2, std::swap(from, to))
      for (index begin = 0; begin < n; begin += 2 * run) {
        index const middle = std::min(begin + run, n), end = std::min(middle + run, n);
        std::merge(from + begin, from + middle, from + middle, from + end, to + begin,
                   [](item const& a, item const& b) { return a.key < b.key; });
      }
    for (index j = 0; j < n; ++j) rows.put(row, j, from[j], out, ids);
  }
};

template <class T>
struct first_items_body {
  sorted_rows<T> rows;
  typename sorted_rows<T>::item* to;
  KOKKOS_FUNCTION void operator()(index e) const { to[e] = rows.item_of(e / rows.of.n, e % rows.of.n); }
};
template <class T>
struct last_items_body {
  sorted_rows<T> rows;
  T* out;
  std::int32_t* ids;
  typename sorted_rows<T>::item const* from;
  KOKKOS_FUNCTION void operator()(index e) const { rows.put(e / rows.of.n, e % rows.of.n, from[e], out, ids); }
};
template <class Item>
struct merge_runs_body {
  index n, run;
  Item* to;
  Item const* from;

  KOKKOS_FUNCTION void operator()(index e) const {
    Item const* const row = from + e / n * n;
    index const j = e % n, own = j / run, other = own ^ 1, begin = other * run;
    Item const mine = row[j];
    bool const comes_first = own < other;  // so equal ones of the other run come behind it
    index low = begin < n ? begin : n, high = begin + run < n ? begin + run : n;
    if (high < low) high = low;
    index const first = low;
    while (low < high) {
      index const middle = low + (high - low) / 2;
      bool const before = comes_first ? row[middle].key < mine.key : !(mine.key < row[middle].key);
      if (before)
        low = middle + 1;
      else
        high = middle;
    }
    index const place = (own < other ? own : other) * run + j % run + (low - first);
    to[e - j + place] = mine;
  }
};

template <class Exec, class T>
void compute(device<Exec>& on, primitives::sort_rows<T> const& p) {
  using item = typename sorted_rows<T>::item;
  sorted_rows<T> const rows{p.of, p.x};
  index const all = p.of.count() * p.of.n;
  if (all == 0) return;
  workspace<item, Exec> const one(on, all), two(on, all);
  if constexpr (runs_on_host<Exec>) {
    launch_on_host(p.name, on.exec, p.of.count(), all, host_sort_kernel<T>{rows, p.out, p.ids, one.get(), two.get()});
  } else {
    item *from = one.get(), *to = two.get();
    for_elements(p.name, on.exec, all, first_items_body<T>{rows, from});
    for (index run = 1; run < p.of.n; run *= 2, std::swap(from, to))
      for_elements(p.name, on.exec, all, merge_runs_body<item>{p.of.n, run, to, from});
    for_elements(p.name, on.exec, all, last_items_body<T>{rows, p.out, p.ids, from});
  }
}

template <class T>
struct sort_vjp_body {
  rows of;
  T* dx;
  T const* dy;
  std::int32_t const* ids;
  KOKKOS_FUNCTION void operator()(index e) const {
    index const i = e % of.inner, j = e / of.inner % of.n, o = e / of.inner / of.n;
    index const row = o * of.step() + i, from = row + j * of.inner;
    dx[row + static_cast<index>(ids[from]) * of.inner] = dy[from];
  }
};
template <class Exec, class T>
void compute(device<Exec>& on, primitives::sort_rows_vjp<T> const& p) {
  for_elements(p.name, on.exec, p.of.count() * p.of.n, sort_vjp_body<T>{p.of, p.dx, p.dy, p.ids});
}

MTF_COMPILED(device, sort_rows)
MTF_COMPILED(device, sort_rows_vjp)

}  // namespace mtf::kokkos
