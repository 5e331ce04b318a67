#pragma once
// Rows of a table by integer ids, and the sum of gradients back into the table.
#include <cstdint>
#include <limits>

#include <mtf/kokkos/team.hpp>

namespace mtf::detail {

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

/// The host's way: each thread owns some columns and takes the ids in their order, so sums do not depend on threads.
template <class T>
struct add_rows_by_columns {
  static constexpr index strip = 64;
  table_ids ids;
  index count;
  T* table;
  T const* dy;

  void operator()(index s) const {
    index const column = s * strip, w = std::min(strip, ids.width - column);
    for (index r = 0; r < count; ++r) {
      index const begin = ids.begin(r);
      if (begin < 0) continue;
      T* const to = table + begin + column;
      T const* const from = dy + r * ids.width + column;
      MTF_SIMD
      for (index j = 0; j < w; ++j) to[j] = convert<T>(load(to[j]) + load(from[j]));
    }
  }
};

template <class T>
KOKKOS_FUNCTION inline void atomic_accumulate(T* to, T x) {
  Kokkos::atomic_add(to, x);
}
/// 16-bit atomics are not everywhere: this one exchanges the aligned word around the element.
KOKKOS_FUNCTION inline void atomic_accumulate(bfloat16* to, bfloat16 x) {
  bool const upper = (reinterpret_cast<std::uintptr_t>(to) & 2U) != 0;
  auto* const word = reinterpret_cast<std::uint32_t*>(upper ? to - 1 : to);
  unsigned const shift = upper ? 16U : 0U;
  std::uint32_t seen = Kokkos::atomic_load(word), expected = 0;
  do {
    expected = seen;
    bfloat16 old;
    old.bits = static_cast<std::uint16_t>(expected >> shift);
    auto const sum = static_cast<std::uint32_t>(bfloat16(static_cast<float>(old) + static_cast<float>(x)).bits);
    seen = Kokkos::atomic_compare_exchange(word, expected, (expected & ~(0xffffU << shift)) | (sum << shift));
  } while (seen != expected);
}

template <class T>
struct add_rows_atomic {
  table_ids ids;
  T* table;
  T const* dy;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    index const begin = ids.begin(r);
    if (begin < 0) return;
    T* const to = table + begin;
    T const* const from = dy + r * ids.width;
    team.each(ids.width, [=](index j) { atomic_accumulate(to + j, from[j]); });
  }
};

template <class Exec, class T>
void add_rows(device<Exec>& on, table_ids const& ids, index count, T* table, T const* dy) {
  if constexpr (runs_on_host<Exec>) {
    using body = add_rows_by_columns<T>;
    launch_on_host("mtf::add_rows", on.exec, ceil_div(ids.width, body::strip), count * ids.width,
                   body{ids, count, table, dy});
  } else {
    for_rows("mtf::add_rows", on.exec, count, ids.width, add_rows_atomic<T>{ids, table, dy});
  }
}

}  // namespace mtf::detail
