#pragma once
// The largest numbers of rows: one thread a row, which keeps those that it has found in their order. On the host it
// looks at blocks of elements, or at neighbouring rows, by vectors first: few of them have any that is to be kept.
#include <algorithm>
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
    found_in_row found = begin(row / p.inner, row % p.inner);
    for (index b = 0; b < p.blocks; ++b) {
      index const first = at(b, row / p.inner, 0, row % p.inner);
      for (index j = 0; j < p.n; ++j) take(found, p.x[first + j * p.inner], id_of(first + j * p.inner, j));
    }
  }

  /// What a row has so far: `count` in their order.
  struct found_in_row {
    T* x;
    std::int32_t* ids;
    index count;
  };
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION found_in_row begin(index o, index i) const {
    return {p.out + o * p.k * p.inner + i, p.out_ids + o * p.k * p.inner + i, 0};
  }
  /// Where element j of a block of row (o, i) is.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index at(index b, index o, index j, index i) const {
    return ((b * p.outer + o) * p.n + j) * p.inner + i;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t id_of(index at, index j) const {
    return p.ids != nullptr ? p.ids[at] : static_cast<std::int32_t>(p.offset + j);
  }
  KOKKOS_FORCEINLINE_FUNCTION void take(found_in_row& found, T x, std::int32_t id) const {
    if (found.count == p.k && !is_before(x, id, found, p.k - 1)) return;
    index to = found.count < p.k ? found.count++ : p.k - 1;
    for (; to > 0 && is_before(x, id, found, to - 1); --to) {
      found.x[to * p.inner] = found.x[(to - 1) * p.inner];
      found.ids[to * p.inner] = found.ids[(to - 1) * p.inner];
    }
    found.x[to * p.inner] = x;
    found.ids[to * p.inner] = id;
  }

 private:
  /// Of equal ones the first in its row, wherever a split over several axes puts it among the blocks.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_before(T x, std::int32_t id, found_in_row const& found,
                                                           index to) const {
    auto const mine = top_order(x, p.smallest), other = top_order(found.x[to * p.inner], p.smallest);
    return mine > other || (mine == other && id < found.ids[to * p.inner]);
  }
};

/// For the host: a row, or neighbouring rows.
template <class T>
struct top_on_host {
  using order = decltype(top_order(T{}));
  static constexpr index most_columns = 64;
  top_of_rows_body<T> of;
  index columns;  // rows at once, at most most_columns

  [[nodiscard]] index strips() const { return ceil_div(of.p.inner, columns); }
  void operator()(index item) const {
    index const o = item / strips(), i = item % strips() * columns, w = std::min(columns, of.p.inner - i);
    if (of.p.blocks * of.p.n == 0) return;
    if (of.p.inner == 1)
      of.p.k == 1 && is_in_order() ? find_first(o) : find_in_row(o);
    else
      of.p.k == 1 ? find_largest(o, i, w) : find_in_rows(o, i, w);
  }

 private:
  static constexpr index block = 256, part = 32, fetched_ahead = 1024;

  /// Later elements have larger ids: of equal ones the first is that which is kept.
  [[nodiscard]] bool is_in_order() const { return of.p.ids == nullptr && of.p.blocks == 1; }
  /// The largest place in the order of n elements.
  [[nodiscard]] order largest_of(T const* x, index n) const {
    bool const smallest = of.p.smallest;
    return host_team{}.template reduce<max_op, order>(
        n, [=](index j) MTF_INLINE_LAMBDA { return top_order(x[j], smallest); }, x + fetched_ahead);
  }
  /// The largest of all, and then where in the first block that has it.
  void find_first(index o) const {
    auto const& p = of.p;
    T const* const row = p.x + o * p.n;
    order best = largest_of(row, std::min(block, p.n));
    index in = 0;
    for (index j = block; j < p.n; j += block) {
      order const largest = largest_of(row + j, std::min(block, p.n - j));
      if (largest <= best) continue;
      best = largest;
      in = j;
    }
    index const m = std::min(block, p.n - in);
    T const* const x = row + in;
    bool const smallest = p.smallest;
    auto const from_end = host_team{}.template reduce<max_op, std::int32_t>(m, [=](index j) MTF_INLINE_LAMBDA {
      return top_order(x[j], smallest) == best ? static_cast<std::int32_t>(m - j) : 0;
    });
    index const at = in + m - from_end;
    p.out[o] = row[at];
    p.out_ids[o] = static_cast<std::int32_t>(p.offset + at);
  }
  /// In blocks, and parts of them, of which those are passed over that have none to be kept.
  void find_in_row(index o) const {
    auto const& p = of.p;
    bool const in_order = is_in_order();
    auto found = of.begin(o, 0);
    order least = std::numeric_limits<order>::lowest();  // of those that are kept
    auto const may_keep = [&](order x) { return found.count < p.k || x > least || (x == least && !in_order); };
    for (index b = 0; b < p.blocks; ++b) {
      index const first = of.at(b, o, 0, 0);
      for (index begin = 0; begin < p.n; begin += block) {
        index const end = std::min(begin + block, p.n);
        if (!may_keep(largest_of(p.x + first + begin, end - begin))) continue;
        for (index from = begin; from < end; from += part) {
          index const to = std::min(from + part, end);
          if (!may_keep(largest_of(p.x + first + from, to - from))) continue;
          for (index j = from; j < to; ++j) {
            if (!may_keep(top_order(p.x[first + j], p.smallest))) continue;
            of.take(found, p.x[first + j], of.id_of(first + j, j));
            if (found.count == p.k) least = top_order(found.x[p.k - 1], p.smallest);
          }
        }
      }
    }
  }
  /// Of w neighbouring rows.
  void find_largest(index o, index i, index w) const {
    auto const& p = of.p;
    bool const smallest = p.smallest;
    order best[most_columns];
    std::int32_t at[most_columns], id[most_columns];
    index const begin = of.at(0, o, 0, i);
    for (index c = 0; c < w; ++c) {
      best[c] = top_order(p.x[begin + c], smallest);
      id[c] = of.id_of(begin + c, 0);
      at[c] = 0;
    }
    for (index b = 0; b < p.blocks; ++b)
      for (index j = b == 0 ? 1 : 0; j < p.n; ++j) {
        index const first = of.at(b, o, j, i);
        T const* const x = p.x + first;
        auto const own = static_cast<std::int32_t>(p.offset + j), e = static_cast<std::int32_t>(b * p.n + j);
        std::int32_t const* const ids = p.ids != nullptr ? p.ids + first : nullptr;
        MTF_SIMD
        for (index c = 0; c < w; ++c) {
          order const mine = top_order(x[c], smallest);
          std::int32_t const mine_id = ids != nullptr ? ids[c] : own;
          bool const is_first = (mine > best[c]) | ((mine == best[c]) & (mine_id < id[c]));
          best[c] = is_first ? mine : best[c];
          id[c] = is_first ? mine_id : id[c];
          at[c] = is_first ? e : at[c];
        }
      }
    for (index c = 0; c < w; ++c) {
      p.out[o * p.inner + i + c] = p.x[of.at(at[c] / p.n, o, at[c] % p.n, i + c)];
      p.out_ids[o * p.inner + i + c] = id[c];
    }
  }
  void find_in_rows(index o, index i, index w) const {
    auto const& p = of.p;
    bool const smallest = p.smallest, ties = !is_in_order();
    order least[most_columns];
    typename top_of_rows_body<T>::found_in_row found[most_columns];
    for (index c = 0; c < w; ++c) {
      least[c] = std::numeric_limits<order>::lowest();
      found[c] = of.begin(o, i + c);
    }
    for (index b = 0; b < p.blocks; ++b)
      for (index j = 0; j < p.n; ++j) {
        index const first = of.at(b, o, j, i);
        T const* const x = p.x + first;
        int kept = b * p.n + j < p.k ? 1 : 0;
        for (index c = 0; c < w; ++c) {
          order const mine = top_order(x[c], smallest);
          kept |= static_cast<int>((mine > least[c]) | (ties & (mine == least[c])));
        }
        if (kept == 0) continue;
        for (index c = 0; c < w; ++c) {
          of.take(found[c], x[c], of.id_of(first + c, j));
          if (found[c].count == p.k) least[c] = top_order(found[c].x[(p.k - 1) * p.inner], smallest);
        }
      }
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
  if (p.k == 0) return;
  if constexpr (runs_on_host<Exec>) {
    // Wide where that leaves each thread some work.
    index const most = top_on_host<T>::most_columns, threads = static_cast<index>(on.exec.concurrency());
    top_on_host<T> const body{{p}, p.outer * ceil_div(p.inner, most) >= 4 * threads ? most : most / 4};
    launch_on_host(p.name, on.exec, p.outer * body.strips(), p.outer * p.inner * p.blocks * p.n, body);
  } else {
#if MTF_HAS_DEVICES
    if (p.k == 1) return for_rows(p.name, on.exec, p.outer * p.inner, p.blocks * p.n, largest_of_rows_body<T>{p});
#endif
    for_each_row(p.name, on.exec, p.outer * p.inner, p.blocks * p.n, top_of_rows_body<T>{p});
  }
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::top_of_rows_vjp<T> const& p) {
  for_each_row(p.name, on.exec, p.outer * p.inner, p.n, top_of_rows_vjp_body<T>{p});
}

MTF_COMPILED(device, top_of_rows)
MTF_COMPILED(device, top_of_rows_vjp)

}  // namespace mtf::kokkos
