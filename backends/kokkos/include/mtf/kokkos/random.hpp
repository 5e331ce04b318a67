#pragma once
// Counter-based random numbers: element g of a global tensor depends on the key and on g alone, so it is the same
// wherever the layout puts it. Philox4x32-10 of Random123, counter {g, g >> 32, draw, 0}. Numbers are computed in
// double and rounded, so that all element types see the same ones.
#include <cstdint>

// Random123 does not know hipcc: its device marks are CUDA's.
#if defined(__HIPCC__) && !defined(R123_CUDA_DEVICE)
#define R123_CUDA_DEVICE __host__ __device__
#endif
// Its AES generators would bring all intrinsics, a third of a second of every compilation. (Who wants them includes
// Random123 first.)
#if !defined(R123_USE_SSE)
#define R123_USE_SSE 0
#endif
#include <Random123/philox.h>
#include <mtf/kokkos/nest.hpp>

namespace mtf::detail {

struct philox_words {
  std::uint32_t word[4];
};

KOKKOS_FORCEINLINE_FUNCTION philox_words philox(std::uint64_t key, std::uint64_t counter, std::uint32_t draw) {
  auto const r = philox4x32_R(
      10, philox4x32_ctr_t{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32U), draw, 0U}},
      philox4x32_key_t{{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)}});
  return {{r.v[0], r.v[1], r.v[2], r.v[3]}};
}

/// In [0, 1), 53 bits.
KOKKOS_FORCEINLINE_FUNCTION double unit_interval(std::uint32_t a, std::uint32_t b) {
  auto const bits = (static_cast<std::uint64_t>(a) << 32U | b) >> 11U;
  return static_cast<double>(bits) * 0x1p-53;
}

/// A standard normal number by Box and Muller's transformation.
KOKKOS_FORCEINLINE_FUNCTION double normal_from(philox_words const& w) {
  double const radius = Kokkos::sqrt(-2.0 * Kokkos::log(1.0 - unit_interval(w.word[0], w.word[1])));
  constexpr double two_pi = 6.283185307179586;
  return radius * Kokkos::cos(two_pi * unit_interval(w.word[2], w.word[3]));
}

struct uniform_numbers {
  std::uint64_t key;
  double low, range;
  KOKKOS_FUNCTION double operator()(std::uint64_t g) const {
    auto const w = philox(key, g, 0);
    return low + range * unit_interval(w.word[0], w.word[1]);
  }
};

struct normal_numbers {
  std::uint64_t key;
  double mean, stddev;
  KOKKOS_FUNCTION double operator()(std::uint64_t g) const { return mean + stddev * normal_from(philox(key, g, 0)); }
};

/// Redraws what lies beyond two standard deviations.
struct truncated_normal_numbers {
  std::uint64_t key;
  double mean, stddev;
  KOKKOS_FUNCTION double operator()(std::uint64_t g) const {
    double z = normal_from(philox(key, g, 0));
    for (std::uint32_t draw = 1; z < -2.0 || z > 2.0; ++draw) z = normal_from(philox(key, g, draw));
    return mean + stddev * z;
  }
};

template <class T, class Numbers>
struct random_kernel {
  nest<1> where;
  index n, offset;
  T* out;
  Numbers numbers;

  KOKKOS_FUNCTION void element(index i) const {
    index at[1];
    where.locate(i, at);
    put(i, at[0]);
  }
  void block(index b) const {
    index i = b * host_grain;
    index const stride = where.inner_stride(0);
    where.for_runs(i, std::min(n, i + host_grain), [&](index const(&at)[1], index m) {
      for (index j = 0; j < m; ++j) put(i + j, at[0] + j * stride);
      i += m;
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void put(index i, index g) const {
    out[i] = convert<T>(numbers(static_cast<std::uint64_t>(offset + g)));
  }
};

template <class Exec, class T, class Numbers>
void generate(device<Exec>& on, placement const& p, T* out, Numbers const& numbers) {
  launch_nest("mtf::random", on.exec,
              random_kernel<T, Numbers>{nest_of(p.local), p.local.size(), p.offset, out, numbers});
}

/// y = x / (1 - rate) where the element's random word is at least `threshold` = rate * 2^32, 0 elsewhere. Four
/// neighbours in the global order share one counter: element g has word g % 4 of counter g / 4.
template <class T>
struct dropout_kernel {
  using A = compute_t<T>;
  nest<1> where;
  index n, offset;
  std::uint64_t key;
  std::uint32_t threshold;
  A factor;
  T* y;
  T const* x;

  KOKKOS_FUNCTION void element(index i) const {
    index at[1];
    where.locate(i, at);
    put(i, offset + at[0]);
  }
  void block(index b) const {
    index i = b * host_grain;
    index const stride = where.inner_stride(0);
    where.for_runs(i, std::min(n, i + host_grain), [&](index const(&at)[1], index m) {
      index const g = offset + at[0];
      index j = 0;
      if (stride == 1) {
        for (; j < m && (g + j) % 4 != 0; ++j) put(i + j, g + j);
        for (; j + 4 <= m; j += 4 * groups(m - j)) put_groups(i + j, (g + j) / 4, groups(m - j));
      }
      for (; j < m; ++j) put(i + j, g + j * stride);
      i += m;
    });
  }

 private:
  static constexpr index most_groups = 64;
  static constexpr index groups(index elements) { return std::min(most_groups, elements / 4); }

  KOKKOS_FORCEINLINE_FUNCTION void put(index i, index g) const {
    auto const w = philox(key, static_cast<std::uint64_t>(g) >> 2U, 0);
    y[i] = w.word[g & 3] >= threshold ? convert<T>(load(x[i]) * factor) : T(0);
  }
  void put_groups(index i, index counter, index count) const {
    alignas(64) std::uint32_t words[4 * most_groups];
    auto const k = key;
    MTF_SIMD
    for (index c = 0; c < count; ++c) {
      auto const w = philox(k, static_cast<std::uint64_t>(counter + c), 0);
      words[4 * c] = w.word[0];
      words[4 * c + 1] = w.word[1];
      words[4 * c + 2] = w.word[2];
      words[4 * c + 3] = w.word[3];
    }
    T* const to = y + i;
    T const* const from = x + i;
    auto const least = threshold;
    auto const scale = factor;
    MTF_SIMD
    for (index e = 0; e < 4 * count; ++e) {
      T const kept = convert<T>(load(from[e]) * scale);
      to[e] = words[e] >= least ? kept : T(0);
    }
  }
};

template <class Exec, class T>
void dropout(device<Exec>& on, placement const& p, std::uint64_t key, double rate, T* y, T const* x) {
  using A = compute_t<T>;
  launch_nest("mtf::dropout", on.exec,
              dropout_kernel<T>{nest_of(p.local), p.local.size(), p.offset, key,
                                static_cast<std::uint32_t>(rate * 0x1p32), static_cast<A>(1.0 / (1.0 - rate)), y, x});
}

/// out[o, j, i] = j + offset.
template <class T>
struct iota_body {
  rows r;
  index offset;
  T* out;
  KOKKOS_FUNCTION void operator()(index i) const { out[i] = convert<T>(i / r.inner % r.n + offset); }
};

}  // namespace mtf::detail
