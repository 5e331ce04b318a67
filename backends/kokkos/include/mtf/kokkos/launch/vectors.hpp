#pragma once
// Vector registers of the host, for the few loops that compilers do not vectorize well on their own, and stores past
// the caches, which they do not emit.
#include <cstdint>
#include <cstring>

#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

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

/// Stores one vector to an aligned place, past the caches. GCC has no builtin for that on other processors.
template <class T>
void stream_vector(T* to, T const* from) {
  typename vector_of<float>::type v;
  std::memcpy(&v, from, sizeof v);
#if defined(__clang__)
  __builtin_nontemporal_store(v, reinterpret_cast<decltype(v)*>(to));
#elif defined(__AVX512F__)
  __builtin_ia32_movntps512(reinterpret_cast<float*>(to), v);
#elif defined(__AVX__)
  __builtin_ia32_movntps256(reinterpret_cast<float*>(to), v);
#elif defined(__SSE__)
  __builtin_ia32_movntps(reinterpret_cast<float*>(to), v);
#else
  std::memcpy(to, &v, sizeof v);
#endif
}
#else
template <class T>
void stream_vector(T* to, T const* from) {
  std::copy_n(from, vector_lanes<T>, to);
}
#endif

/// True of arrays so large that much of them is out of the caches before they are read. They are written past the
/// caches: a line that is written into a cache is read from memory first.
template <class T>
constexpr bool exceeds_caches(index elements) {
  return elements * static_cast<index>(sizeof(T)) > index(8) << 20;
}

/// to[0, n) = from[0, n) past the caches. Before others read them there must be a stream_fence().
template <class T>
void stream(T* to, T const* from, index n) {
  constexpr index lanes = vector_lanes<T>;
  index const past = static_cast<index>(reinterpret_cast<std::uintptr_t>(to) % vector_bytes / sizeof(T));
  index j = past == 0 ? 0 : std::min(n, lanes - past);
  if (j > 0) std::copy_n(from, j, to);
  for (; j + lanes <= n; j += lanes) stream_vector(to + j, from + j);
  if (j < n) std::copy(from + j, from + n, to + j);
}

inline void stream_fence() {
#if defined(__GNUC__) && defined(__SSE__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace mtf::kokkos
