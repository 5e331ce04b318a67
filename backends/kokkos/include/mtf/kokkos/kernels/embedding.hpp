#pragma once
// Rows of a table by integer ids, and the sum of gradients back into the table.
#include <algorithm>
#include <cstdint>
#include <limits>

#include <mtf/backend/primitives/embedding.hpp>
#include <mtf/kokkos/launch/copy.hpp>
#include <mtf/kokkos/launch/team.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>

namespace mtf::kokkos {

/// Which rows global ids mean: each table here holds rows [vocab_offset, vocab_offset + vocab) of the global one, of
/// which the first `rows` are no pads, and `count` ids are for it.
struct table_ids {
  index width, vocab, rows, vocab_offset, count;
  std::int32_t const* id;

  template <class P>
  static table_ids of(P const& p) {
    return {p.width, p.vocab, std::min(p.vocab, p.vocab_global - p.vocab_offset), p.vocab_offset, p.count, p.ids};
  }
  /// Where row id[r] begins, of the tables here; negative if it is elsewhere.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index begin(index r) const { return begin(r, r / count); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index begin(index r, index table) const {
    index const row = static_cast<index>(id[r]) - vocab_offset;
    return row >= 0 && row < rows ? (table * vocab + row) * width : -1;
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
/// threads. It fetches what it adds to next: rows of a table come in any order.
template <class A, class T>
struct add_rows_by_columns {
  table_ids ids;
  A* table;
  T const* dy;
  index strip;  // how many columns: as many as leave work for all threads, since few lines in a row are slow to read

  /// Of `batch` tables, for so many threads.
  static add_rows_by_columns of(table_ids const& ids, index batch, A* table, T const* dy, index threads) {
    index const strips = std::clamp<index>(ceil_div(threads, std::max<index>(batch, 1)), 1, ceil_div(ids.width, least));
    return {ids, table, dy, ceil_div(ceil_div(ids.width, strips), least) * least};
  }
  [[nodiscard]] index strips() const { return ceil_div(ids.width, strip); }
  void operator()(index item) const {
    index const of_table = item / strips(), column = item % strips() * strip, w = std::min(strip, ids.width - column);
    index const end = (of_table + 1) * ids.count;
    index next = ids.begin(of_table * ids.count, of_table);
    for (index r = of_table * ids.count; r < end; ++r) {
      index const begin = next;
      if (r + 1 < end) next = ids.begin(r + 1, of_table);
      if (begin < 0) continue;
      A* const to = table + begin + column;
      T const* const from = dy + r * ids.width + column;
      if (next < 0) {
        add(to, from, w);
        continue;
      }
      A const* const to_next = table + next + column;
      for (index j = 0; j < w; j += least) {
        index const m = std::min(least, w - j);
        fetch(to_next + j);
        add(to + j, from + j, m);
      }
    }
  }

 private:
  static constexpr index least = 64;  // columns
  static void add(A* to, T const* from, index n) {
    MTF_SIMD
    for (index j = 0; j < n; ++j) to[j] += load(from[j]);
  }
  static void fetch(A const* p) {
    for (index j = 0; j < least; j += 64 / static_cast<index>(sizeof(A))) __builtin_prefetch(p + j, 1);
  }
};

/// For devices: link[r] is the next row with r's id, 0 if there is none; inverted (~) where an earlier row has that id.
struct link_rows_body {
  index count;  // for one table
  std::int32_t const* id;
  index* link;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    std::int32_t const* const ids = id;
    std::int32_t const mine = ids[r];
    index const first = r / count * count, rows = first + count, later = r + 1;
    index const from_end = team.template max<index>(
        rows - later, [=](index j) { return ids[later + j] == mine ? rows - later - j : index(0); });
    index const before =
        team.template max<index>(r - first, [=](index j) { return index(ids[first + j] == mine ? 1 : 0); });
    index* const to = link + r;
    team.once([=] {
      index const next = from_end > 0 ? rows - from_end : 0;
      *to = before > 0 ? ~next : next;
    });
  }
};

/// The first row with an id takes all that have it, in their order: the host's sums to the bit. (Atomic additions would
/// come in any order, and ranks that hold the same table would drift apart.)
template <class A, class T>
struct add_linked_rows {
  table_ids ids;
  index const* link;
  A* table;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    index const begin = ids.begin(r), width = ids.width;
    index const *const linked = link, next = linked[r];
    if (begin < 0 || next < 0) return;
    A* const to = table + begin;
    T const *const all = dy, *const first = all + r * width;
    team.each(width, [=](index j) {
      A sum = to[j] + load(first[j]);
      for (index s = next; s > 0;) {
        sum += load(all[s * width + j]);
        index const after = linked[s];
        s = after < 0 ? ~after : after;
      }
      to[j] = sum;
    });
  }
};

/// Adds each row of dy to its row of its table, which has elements of T's compute type A.
template <class Exec, class A, class T>
void add_rows_computed(device<Exec>& on, table_ids const& ids, index batch, A* table, T const* dy) {
  index const count = batch * ids.count;
  if (count * ids.width == 0) return;
  if constexpr (runs_on_host<Exec>) {
    auto const threads = static_cast<index>(on.exec.concurrency());
    auto const body = add_rows_by_columns<A, T>::of(ids, batch, table, dy, threads);
    launch_on_host("mtf::add_rows", on.exec, batch * body.strips(), count * ids.width, body);
  } else {
    workspace<index, Exec> const link(on, count);
    for_rows("mtf::add_rows", on.exec, count, ids.count, link_rows_body{ids.count, ids.id, link.get()});
    for_rows("mtf::add_rows", on.exec, count, ids.width, add_linked_rows<A, T>{ids, link.get(), table, dy});
  }
}

/// The same for a table of T, rounded once: in bfloat16 256 + 1 is 256, however often 1 is added.
template <class Exec, class T>
void add_rows(device<Exec>& on, table_ids const& ids, index batch, T* table, T const* dy) {
  using A = compute_t<T>;
  if constexpr (std::is_same_v<T, A>) {
    add_rows_computed(on, ids, batch, table, dy);
  } else {
    index const n = batch * ids.vocab * ids.width;
    loops<2> const flat{.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}}};
    workspace<A, Exec> sum(on, n);
    copy(on, flat, sum.get(), static_cast<T const*>(table));
    add_rows_computed(on, ids, batch, sum.get(), dy);
    copy(on, flat, table, static_cast<A const*>(sum.get()));
  }
}

template <class Exec, class T>
void compute(device<Exec>& on, primitives::take_rows<T> const& p) {
  for_rows(p.name, on.exec, p.batch * p.count, p.width,
           take_rows_body<T>{table_ids::of(p), p.vocab_global, p.out, p.table});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::add_rows<T> const& p) {
  add_rows(on, table_ids::of(p), p.batch, p.table_gradient, p.dy);
}

MTF_COMPILED(device, take_rows)
MTF_COMPILED(device, add_rows)

}  // namespace mtf::kokkos
