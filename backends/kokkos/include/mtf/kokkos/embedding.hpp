#pragma once
// Rows of a table by integer ids, and the sum of gradients back into the table. `table` holds rows
// [vocab_offset, vocab_offset + vocab) of the global one; ids are global.
#include <cstdint>

#include <mtf/kokkos/team.hpp>

namespace mtf::detail {

template <class T>
struct take_rows_body {
  index width, vocab, vocab_offset;
  T* out;
  T const* table;
  std::int32_t const* ids;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    T* const to = out + r * width;
    index const id = static_cast<index>(ids[r]) - vocab_offset;
    if (id >= 0 && id < vocab) {
      T const* const from = table + id * width;
      team.each(width, [=](index j) { to[j] = from[j]; });
    } else {
      team.each(width, [=](index j) { to[j] = T(0); });
    }
  }
};

/// The host's way: each thread owns some columns and takes the ids in their order, so sums do not depend on threads.
template <class T>
struct add_rows_by_columns {
  static constexpr index strip = 64;
  index count, width, vocab, vocab_offset;
  T* table;
  T const* dy;
  std::int32_t const* ids;

  void operator()(index s) const {
    index const begin = s * strip, w = std::min(strip, width - begin);
    for (index r = 0; r < count; ++r) {
      index const id = static_cast<index>(ids[r]) - vocab_offset;
      if (id < 0 || id >= vocab) continue;
      T* const to = table + id * width + begin;
      T const* const from = dy + r * width + begin;
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
  auto const address = reinterpret_cast<std::uintptr_t>(to);
  auto* const word = reinterpret_cast<std::uint32_t*>(address & ~std::uintptr_t(3));
  unsigned const shift = (address & 2U) != 0 ? 16U : 0U;
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
  index width, vocab, vocab_offset;
  T* table;
  T const* dy;
  std::int32_t const* ids;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index r) const {
    index const id = static_cast<index>(ids[r]) - vocab_offset;
    if (id < 0 || id >= vocab) return;
    T* const to = table + id * width;
    T const* const from = dy + r * width;
    team.each(width, [=](index j) { atomic_accumulate(to + j, from[j]); });
  }
};

template <class Exec, class T>
void add_rows(device<Exec>& on, index count, index width, index vocab, index vocab_offset, T* table, T const* dy,
              std::int32_t const* ids) {
  if constexpr (runs_on_host<Exec>) {
    using body = add_rows_by_columns<T>;
    Kokkos::parallel_for("mtf::add_rows", range_policy<Exec>(on.exec, 0, ceil_div(width, body::strip)),
                         body{count, width, vocab, vocab_offset, table, dy, ids});
  } else {
    for_rows("mtf::add_rows", on.exec, count, width, add_rows_atomic<T>{width, vocab, vocab_offset, table, dy, ids});
  }
}

}  // namespace mtf::detail
