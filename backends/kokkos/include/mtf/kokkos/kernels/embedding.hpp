#pragma once
// Rows of a table by integer ids, and the sum of gradients back into the table.
#include <cstdint>
#include <limits>

#include <mtf/backend/primitives/embedding.hpp>
#include <mtf/kokkos/kernels/copy.hpp>
#include <mtf/kokkos/launch/team.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>

namespace mtf::kokkos {

/// Which rows global ids mean: the table here holds rows [vocab_offset, vocab_offset + vocab) of the global one.
struct table_ids {
  index width, vocab, vocab_offset;
  std::int32_t const* id;

  /// Where in the table here row id[r] begins; negative if it is elsewhere.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index begin(index r) const {
    index const row = static_cast<index>(id[r]) - vocab_offset;
    return row >= 0 && row < vocab ? row * width : -1;
  }
};

template <class T>
struct take_rows_body {
  using A = compute_t<T>;
  table_ids ids;
  index vocab_global;
  T* out;
  T const* table;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T* const to = out + r * ids.width;
    index const begin = ids.begin(r);
    if (begin >= 0) {
      T const* const from = table + begin;
      team.each(ids.width, [=](index j) { to[j] = from[j]; });
    } else {
      bool const none = static_cast<index>(ids.id[r]) < vocab_global || !std::numeric_limits<A>::has_quiet_NaN;
      T const fill = convert<T>(none ? A(0) : std::numeric_limits<A>::quiet_NaN());  // a kernel cannot stop
      team.each(ids.width, [=](index j) { to[j] = fill; });
    }
  }
};

/// For the host: each thread owns some columns and takes the ids in their order, so sums do not depend on the number of
/// threads.
template <class A, class T>
struct add_rows_by_columns {
  static constexpr index strip = 64;
  table_ids ids;
  index count;
  A* table;
  T const* dy;

  void operator()(index s) const {
    index const column = s * strip, w = std::min(strip, ids.width - column);
    for (index r = 0; r < count; ++r) {
      index const begin = ids.begin(r);
      if (begin < 0) continue;
      A* const to = table + begin + column;
      T const* const from = dy + r * ids.width + column;
      MTF_SIMD
      for (index j = 0; j < w; ++j) to[j] += load(from[j]);
    }
  }
};

template <class A, class T>
struct add_rows_atomic {
  table_ids ids;
  A* table;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    index const begin = ids.begin(r);
    if (begin < 0) return;
    A* const to = table + begin;
    T const* const from = dy + r * ids.width;
    team.each(ids.width, [=](index j) { Kokkos::atomic_add(to + j, load(from[j])); });
  }
};

/// Adds each row of dy to its row of the table, which has elements of T's compute type A.
template <class Exec, class A, class T>
void add_rows_computed(device<Exec>& on, table_ids const& ids, index count, A* table, T const* dy) {
  if constexpr (runs_on_host<Exec>) {
    using body = add_rows_by_columns<A, T>;
    launch_on_host("mtf::add_rows", on.exec, ceil_div(ids.width, body::strip), count * ids.width,
                   body{ids, count, table, dy});
  } else {
    for_rows("mtf::add_rows", on.exec, count, ids.width, add_rows_atomic<A, T>{ids, table, dy});
  }
}

/// The same for a table of T, rounded once: in bfloat16 256 + 1 is 256, however often 1 is added.
template <class Exec, class T>
void add_rows(device<Exec>& on, table_ids const& ids, index count, T* table, T const* dy) {
  using A = compute_t<T>;
  if constexpr (std::is_same_v<T, A>) {
    add_rows_computed(on, ids, count, table, dy);
  } else {
    index const n = ids.vocab * ids.width;
    loops<2> const flat{.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}}};
    workspace<A, Exec> sum(on, n);
    copy(on, flat, sum.get(), static_cast<T const*>(table));
    add_rows_computed(on, ids, count, sum.get(), dy);
    copy(on, flat, table, static_cast<A const*>(sum.get()));
  }
}

template <class Exec, class T>
void compute(device<Exec>& on, primitives::take_rows<T> const& p) {
  for_rows(p.name, on.exec, p.count, p.width,
           take_rows_body<T>{{p.width, p.vocab, p.vocab_offset, p.ids}, p.vocab_global, p.out, p.table});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::add_rows<T> const& p) {
  add_rows(on, {p.width, p.vocab, p.vocab_offset, p.ids}, p.count, p.table_gradient, p.dy);
}

MTF_COMPILED(device, take_rows)
MTF_COMPILED(device, add_rows)

}  // namespace mtf::kokkos
