#pragma once
// A copy of what is in a near cache into memory that nobody reads soon. A line that is written past the caches need not
// be read first, and meanwhile the memory can deliver what comes next.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace mtf::detail {

#ifdef __SSE2__
/// Copies `from` to `to`, and fetches as much of `next`. Other threads may read the copy after `copies_are_seen`.
inline void copy_past_caches(std::span<char const> from, char* to, std::span<char const> next) {
  constexpr std::size_t line = 64;  // bytes; writing a part of one past the caches takes longer than into them
  auto at = std::min(from.size(), (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
  std::memcpy(to, from.data(), at);
  for (; at + line <= from.size(); at += line) {
    if (at < next.size()) __builtin_prefetch(next.data() + at, 0, 2);
#ifdef __AVX512F__
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from.data() + at));
#else
    for (std::size_t part = at; part < at + line; part += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + part),
                       _mm_loadu_si128(reinterpret_cast<__m128i const*>(from.data() + part)));
#endif
  }
  std::memcpy(to + at, from.data() + at, from.size() - at);
}
/// To be called behind such copies.
inline void copies_are_seen() { _mm_sfence(); }
#else
inline void copy_past_caches(std::span<char const> from, char* to, std::span<char const>) {
  std::memcpy(to, from.data(), from.size());
}
inline void copies_are_seen() {}
#endif

}  // namespace mtf::detail
