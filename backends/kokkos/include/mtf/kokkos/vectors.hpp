#pragma once
// Vector registers of the host, for the few loops that compilers do not vectorize well on their own.
#include <cstdint>
#include <cstring>

#include <mtf/kokkos/device.hpp>

namespace mtf::detail {

#if defined(__AVX512F__)
inline constexpr index vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr index vector_bytes = 32;
#else
inline constexpr index vector_bytes = 16;
#endif

template <class A>
inline constexpr index vector_lanes = vector_bytes / static_cast<index>(sizeof(A));

#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
template <class A>
struct vector_of {
  using type [[gnu::vector_size(vector_bytes)]] = A;
};

/// The 64-bit products of the lower halves of a's lanes with b. GCC finds the instruction for it in scalar code only.
inline vector_of<std::uint64_t>::type product_of_low_halves(vector_of<std::uint64_t>::type a, std::uint32_t b) {
#if !defined(__clang__) && defined(__AVX512F__)
  using halves [[gnu::vector_size(vector_bytes)]] = int;
  using products [[gnu::vector_size(vector_bytes)]] = long long;
  auto const factor = vector_of<std::uint64_t>::type{} + b;
  return reinterpret_cast<vector_of<std::uint64_t>::type>(__builtin_ia32_pmuludq512_mask(
      reinterpret_cast<halves>(a), reinterpret_cast<halves>(factor), products{}, static_cast<unsigned char>(-1)));
#elif !defined(__clang__) && defined(__AVX2__)
  using halves [[gnu::vector_size(vector_bytes)]] = int;
  auto const factor = vector_of<std::uint64_t>::type{} + b;
  return reinterpret_cast<vector_of<std::uint64_t>::type>(
      __builtin_ia32_pmuludq256(reinterpret_cast<halves>(a), reinterpret_cast<halves>(factor)));
#else
  return (a & 0xffffffffU) * b;
#endif
}
#endif

}  // namespace mtf::detail
