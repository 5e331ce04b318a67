#pragma once
// Packs: neighbours of an array that a device's thread loads or stores by one access, of 16 bytes where there are so
// many. A warp that accesses 2 bytes a thread moves 64 bytes at a time, and a device's memory is then not kept busy.
#include <algorithm>
#include <cstdint>

#include <mtf/kokkos/runtime/device.hpp>

#if MTF_HAS_DEVICES
namespace mtf::kokkos {

/// How many neighbours a thread takes of arrays of these types: 16 bytes of the smallest, at most 32 of the largest.
template <class... T>
inline constexpr int pack_width =
    std::min({8, 16 / static_cast<int>(std::min({sizeof(T)...})), 32 / static_cast<int>(std::max({sizeof(T)...}))});

/// What the address of a pack that is accessed at once is a multiple of.
template <class T, int V>
inline constexpr index pack_alignment = std::min<index>(16, V* static_cast<index>(sizeof(T)));

/// V neighbours.
template <class T, int V>
struct alignas(pack_alignment<T, V>) pack {
  T x[V];
};

/// True where each pack of V in the innermost loop of a nest that begins at a multiple of V there may be accessed at
/// once, if all of it is in the loop; also of an operand that the loop repeats. Null is accessed never.
template <int V, class Nest, class T>
bool has_whole_packs(Nest const& where, int operand, T const* p) {
  constexpr index alignment = pack_alignment<T, V>, bytes = static_cast<index>(sizeof(T));
  if (p == nullptr || where.inner_stride(operand) == 0) return true;
  if (where.inner_stride(operand) != 1 || reinterpret_cast<std::uintptr_t>(p) % alignment != 0) return false;
  for (int d = 0; d < where.l.ndim - 1; ++d)
    if (where.stride(operand, d) * bytes % alignment != 0) return false;
  return true;
}

/// The same of one row.
template <int V, class T>
KOKKOS_FORCEINLINE_FUNCTION bool begins_whole(T const* p) {
  return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(pack_alignment<T, V>) == 0;
}

/// The same of dense rows of n elements.
template <int V, class T>
bool has_whole_packs(index n, T const* p) {
  constexpr index alignment = pack_alignment<T, V>, bytes = static_cast<index>(sizeof(T));
  return n * bytes % alignment == 0 && reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

/// V neighbours at p, `stride` apart, of which `left` exist: those beyond repeat the last. `whole`: packs of V that
/// exist may be accessed at once.
template <int V, class T>
KOKKOS_FORCEINLINE_FUNCTION pack<T, V> load_pack(T const* p, index stride, index left, bool whole) {
  if (whole && left >= V && stride == 1) return *reinterpret_cast<pack<T, V> const*>(p);
  pack<T, V> all;
  if (stride == 0) {
    T const one = *p;
    for (int k = 0; k < V; ++k) all.x[k] = one;
  } else {
    for (int k = 0; k < V; ++k) all.x[k] = p[(k < left ? k : left - 1) * stride];
  }
  return all;
}
/// Stores those that exist.
template <int V, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_pack(T* p, index stride, index left, bool whole, pack<T, V> const& all) {
  if (whole && left >= V && stride == 1) {
    *reinterpret_cast<pack<T, V>*>(p) = all;
    return;
  }
  for (int k = 0; k < V; ++k)
    if (k < left) p[k * stride] = all.x[k];
}

}  // namespace mtf::kokkos
#endif
