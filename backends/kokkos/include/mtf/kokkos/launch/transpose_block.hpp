#pragma once
// Transposes 8 x 8 elements in vector registers: compilers find no such code on their own.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <mtf/kokkos/runtime/device.hpp>
#include <mtf/math/fast_math.hpp>

namespace mtf::kokkos {

#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
inline constexpr bool has_block_transpose = true;

template <class U>
struct vector_of_8 {
  using type [[gnu::vector_size(8 * sizeof(U))]] = U;
};

/// to[i * to_stride + j] = from[i + j * from_stride] for i, j < 8; T has 2, 4 or 8 bytes.
template <class T>
MTF_FUNCTION void transpose_block(T* to, index to_stride, T const* from, index from_stride) {
  using bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  using vector = typename vector_of_8<bits>::type;
  vector row[8], next[8];
  for (int j = 0; j < 8; ++j) std::memcpy(&row[j], from + j * from_stride, sizeof(vector));
  // Three perfect shuffles of rows i and i + 4 move every element to its place.
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 4; ++i) {
      next[2 * i] = __builtin_shufflevector(row[i], row[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(row[i], row[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; ++i) row[i] = next[i];
  }
  for (int i = 0; i < 8; ++i) std::memcpy(static_cast<void*>(to + i * to_stride), &row[i], sizeof(vector));
}
#else
inline constexpr bool has_block_transpose = false;

template <class T>
void transpose_block(T*, index, T const*, index) {}
#endif

}  // namespace mtf::kokkos
