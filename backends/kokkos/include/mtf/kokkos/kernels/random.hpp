#pragma once
// Counter-based random numbers: element g of a global tensor depends on the key and on g alone, so it is the same
// wherever the layout puts it. Philox4x32-10 of Random123, counter {g, g >> 32, draw, 0}. Numbers are computed in
// double and rounded, so that all element types see the same ones. The host computes full batches, also for the last
// elements, so that no element's last bit depends on its place in a vector.
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
#include <mtf/backend/primitives/random.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/launch/fill.hpp>
#include <mtf/kokkos/launch/nest.hpp>
#include <mtf/kokkos/launch/vectors.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/math/fast_math.hpp>

namespace mtf::kokkos {

struct philox_words {
  std::uint32_t word[4];
};

KOKKOS_FORCEINLINE_FUNCTION philox_words philox(std::uint64_t key, std::uint64_t counter, std::uint32_t draw) {
  auto const r = philox4x32_R(
      10, philox4x32_ctr_t{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32U), draw, 0U}},
      philox4x32_key_t{{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)}});
  return {{r.v[0], r.v[1], r.v[2], r.v[3]}};
}

/// How many counters the host takes at a time.
inline constexpr int philox_batch = 32;

/// The words 0 and 1, and 2 and 3, of philox(key, counter[i], draw), each pair as one number whose lower half is the
/// first. These are Random123's rounds on vectors of 64-bit lanes, of which only the lower halves count: from philox()
/// itself compilers make twice the instructions.
inline void philox_pairs(std::uint64_t key, std::uint64_t const (&counter)[philox_batch], std::uint32_t draw,
                         std::uint64_t (&first)[philox_batch], std::uint64_t (&second)[philox_batch]) {
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
  using words = vector_of<std::uint64_t>::type;
  constexpr int lanes = vector_lanes<std::uint64_t>;
  for (int i = 0; i < philox_batch; i += lanes) {
    words c[4] = {};
    std::memcpy(&c[0], counter + i, sizeof(words));
    c[1] = c[0] >> 32U;
    c[2] += draw;
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32U);
    for (int round = 0; round < 10; ++round, k0 += PHILOX_W32_0, k1 += PHILOX_W32_1) {
      words const p0 = product_of_low_halves(c[0], PHILOX_M4x32_0), p1 = product_of_low_halves(c[2], PHILOX_M4x32_1);
      c[0] = (p1 >> 32U) ^ c[1] ^ k0;
      c[1] = p1;
      c[2] = (p0 >> 32U) ^ c[3] ^ k1;
      c[3] = p0;
    }
    words const pair0 = (c[0] & 0xffffffffU) | (c[1] << 32U), pair1 = (c[2] & 0xffffffffU) | (c[3] << 32U);
    std::memcpy(first + i, &pair0, sizeof(words));
    std::memcpy(second + i, &pair1, sizeof(words));
  }
#else
  for (int i = 0; i < philox_batch; ++i) {
    auto const w = philox(key, counter[i], draw);
    first[i] = static_cast<std::uint64_t>(w.word[1]) << 32U | w.word[0];
    second[i] = static_cast<std::uint64_t>(w.word[3]) << 32U | w.word[2];
  }
#endif
}

/// A number in [0, 1) from 52 bits of a pair of words; the first word, the lower half, gives the higher bits.
MTF_FUNCTION double unit_interval(std::uint64_t words) {
  std::uint64_t const turned = words << 32U | words >> 32U;
  return Kokkos::bit_cast<double>(turned >> 12U | 0x3ff0000000000000ULL) - 1.0;
}

// The library's logarithm and cosine are not vectorized. The coefficients are those of the series, as
// scripts/derive_fast_math.py prints them; tests/local/fast_math_test.cpp holds both to their errors.

/// The natural logarithm of 0 < x <= 1 to 3.5e-14 of itself.
MTF_FUNCTION double log_of_unit(double x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m - 1) / (m + 1)); the series to the 15th power.
  constexpr std::uint64_t root = 0x3fe6a09e667f3bcdULL, mantissa = 0x000fffffffffffffULL;
  std::uint64_t const from_root = Kokkos::bit_cast<std::uint64_t>(x) - root;
  double const m = Kokkos::bit_cast<double>((from_root & mantissa) + root);
  // 1.5 * 2^52 + e, whose low bits are e: exact, and without a conversion of 64-bit integers
  std::uint64_t const e = static_cast<std::uint64_t>(static_cast<std::int64_t>(from_root) >> 52);
  double const exponent = Kokkos::bit_cast<double>(0x4338000000000000ULL + e) - 0x1.8p52;
  double const s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  return p * z * s + 2.0 * s + exponent * 0.69314718055994530942;
}

/// cos(2 pi x) for 0 <= x < 1, to 4.5e-14.
MTF_FUNCTION double cosine_of_turns(double x) {
  double const y = (x < 0.5 ? x : 1.0 - x) - 0.25;  // the cosine is -sin(2 pi y), -1/4 <= y <= 1/4
  double const a = 6.28318530717958647693 * y, z = a * a;
  double p = 2.8114572543455206e-15;  // the series to a^17
  p = p * z - 7.6471637318198164e-13;
  p = p * z + 1.6059043836821613e-10;
  p = p * z - 2.5052108385441720e-08;
  p = p * z + 2.7557319223985893e-06;
  p = p * z - 1.9841269841269841e-04;
  p = p * z + 8.3333333333333332e-03;
  p = p * z - 1.6666666666666666e-01;
  return -(p * z * a + a);
}

/// A standard normal number by Box and Muller's transformation.
MTF_FUNCTION double normal_from(std::uint64_t first, std::uint64_t second) {
  return Kokkos::sqrt(-2.0 * log_of_unit(1.0 - unit_interval(first))) * cosine_of_turns(unit_interval(second));
}

struct uniform_numbers {
  double low, range;
  MTF_FUNCTION double operator()(std::uint64_t first, std::uint64_t /*second*/) const {
    return low + range * unit_interval(first);
  }
  [[nodiscard]] MTF_FUNCTION static bool drawn_again(double) { return false; }
};

struct normal_numbers {
  double mean, stddev;
  MTF_FUNCTION double operator()(std::uint64_t first, std::uint64_t second) const {
    return mean + stddev * normal_from(first, second);
  }
  [[nodiscard]] MTF_FUNCTION static bool drawn_again(double) { return false; }
};

/// Draws again what lies beyond two standard deviations.
struct truncated_normal_numbers {
  double mean, stddev;
  MTF_FUNCTION double operator()(std::uint64_t first, std::uint64_t second) const {
    return mean + stddev * normal_from(first, second);
  }
  [[nodiscard]] MTF_FUNCTION bool drawn_again(double x) const { return x < mean - 2 * stddev || x > mean + 2 * stddev; }
};

template <class T, class Numbers>
struct random_kernel {
  static constexpr int operands = 1;
  nest<1> where;
  index n, offset;
  std::uint64_t key;
  T* out;
  Numbers numbers;

  KOKKOS_FUNCTION T value(index /*i*/, index const (&at)[1]) const {
    return convert<T>(number(static_cast<std::uint64_t>(offset + at[0]), 0));
  }
  KOKKOS_FUNCTION void put(index i, index const (& /*at*/)[1], T x) const { out[i] = x; }
  void block(index b) const {
    index i = b * host_grain;
    index const stride = where.inner_stride(0);
    where.for_runs(i, std::min(n, i + host_grain), [&](index const(&at)[1], index m) {
      for (index j = 0; j < m; j += philox_batch)
        batch(out + i + j, offset + at[0] + j * stride, stride, std::min<index>(philox_batch, m - j));
      i += m;
    });
  }

 private:
  KOKKOS_FUNCTION double number(std::uint64_t g, std::uint32_t draw) const {
    for (;; ++draw) {
      auto const w = philox(key, g, draw);
      double const x = numbers(static_cast<std::uint64_t>(w.word[1]) << 32U | w.word[0],
                               static_cast<std::uint64_t>(w.word[3]) << 32U | w.word[2]);
      if (!numbers.drawn_again(x)) return x;
    }
  }
  /// The numbers of elements g, g + stride, ...
  void batch(T* to, index g, index stride, index count) const {
    alignas(64) std::uint64_t counter[philox_batch], first[philox_batch], second[philox_batch];
    alignas(64) double x[philox_batch];
    for (int l = 0; l < philox_batch; ++l) counter[l] = static_cast<std::uint64_t>(g + l * stride);
    bool again = true;
    for (std::uint32_t draw = 0; again; ++draw) {
      philox_pairs(key, counter, draw, first, second);
      again = draw_batch(draw, first, second, x);
    }
    for (index l = 0; l < count; ++l) to[l] = convert<T>(x[l]);
  }
  /// Draws those elements of x that are not drawn yet; true if some must be drawn once more.
  bool draw_batch(std::uint32_t draw, std::uint64_t const (&first)[philox_batch],
                  std::uint64_t const (&second)[philox_batch], double (&x)[philox_batch]) const {
    alignas(64) double drawn[philox_batch];
    auto const f = numbers;
// Clang takes not all of these loops, and says so in whoever's project it is.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
    MTF_SIMD
    for (int l = 0; l < philox_batch; ++l) drawn[l] = f(first[l], second[l]);
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
    bool again = false;
    for (int l = 0; l < philox_batch; ++l) {
      if (draw == 0 || f.drawn_again(x[l])) x[l] = drawn[l];
      again = again || f.drawn_again(x[l]);
    }
    return again;
  }
};

template <class Exec, class T, class Numbers>
void generate(device<Exec>& on, placement const& p, std::uint64_t key, T* out, Numbers const& numbers) {
  launch_nest("mtf::random", on.exec,
              random_kernel<T, Numbers>{nest_of(p.local), p.local.size(), p.offset, key, out, numbers});
}

/// A number of Gumbel's distribution, between -3.7 and 36.8.
MTF_FUNCTION double gumbel_from(std::uint64_t first) {
  return -log_of_unit(-log_of_unit(unit_interval(first) + 0x1p-53));
}

/// y = x + scale * (its number of Gumbel's distribution).
template <class T>
struct gumbel_kernel {
  static constexpr int operands = 1;
  nest<1> where;
  index n, offset;
  std::uint64_t key;
  double scale;
  T* y;
  T const* x;

  KOKKOS_FUNCTION T value(index i, index const (&at)[1]) const {
    auto const w = philox(key, static_cast<std::uint64_t>(offset + at[0]), 0);
    return sum(x[i], gumbel_from(static_cast<std::uint64_t>(w.word[1]) << 32U | w.word[0]));
  }
  KOKKOS_FUNCTION void put(index i, index const (& /*at*/)[1], T to) const { y[i] = to; }
  void block(index b) const {
    index i = b * host_grain;
    index const stride = where.inner_stride(0);
    where.for_runs(i, std::min(n, i + host_grain), [&](index const(&at)[1], index m) {
      for (index j = 0; j < m; j += philox_batch)
        batch(i + j, offset + at[0] + j * stride, stride, std::min<index>(philox_batch, m - j));
      i += m;
    });
  }

 private:
  /// Rounded once, wherever it is compiled: ties are decided alike on all layouts.
  KOKKOS_FORCEINLINE_FUNCTION T sum(T to, double number) const {
    return convert<T>(Kokkos::fma(scale, number, static_cast<double>(load(to))));
  }
  void batch(index i, index g, index stride, index count) const {
    alignas(64) std::uint64_t counter[philox_batch], first[philox_batch], second[philox_batch];
    alignas(64) double number[philox_batch];
    for (int l = 0; l < philox_batch; ++l) counter[l] = static_cast<std::uint64_t>(g + l * stride);
    philox_pairs(key, counter, 0, first, second);
    MTF_SIMD
    for (int l = 0; l < philox_batch; ++l) number[l] = gumbel_from(first[l]);
    for (index l = 0; l < count; ++l) y[i + l] = sum(x[i + l], number[l]);
  }
};

/// Which elements dropout keeps, those whose half word is at least `threshold`, and by what they are multiplied. The
/// rate is rounded to a multiple of 2^-16, for the factor too: the expectation stays that of x, unless the rate is 1.
struct dropout_rate {
  static constexpr std::uint32_t all = 1U << 16U;
  std::uint32_t threshold;
  double factor;

  explicit dropout_rate(double rate)
      : threshold(static_cast<std::uint32_t>(rate * all + 0.5)),
        factor(threshold == all ? 0.0 : static_cast<double>(all) / (all - threshold)) {}
};

/// Element g's half word: eight neighbours in the global order share one counter.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t dropout_half(std::uint64_t key, index g) {
  auto const w = philox(key, static_cast<std::uint64_t>(g) / 8, 0);
  return w.word[g % 8 / 2] >> (g % 2 == 0 ? 0U : 16U) & 0xffffU;
}
/// Half words of 8 * philox_batch elements, from the first one of a counter on.
inline void dropout_halves(std::uint64_t key, index first_counter, std::uint16_t* half) {
  alignas(64) std::uint64_t counter[philox_batch], first[philox_batch], second[philox_batch];
  alignas(64) std::uint64_t pair[2 * philox_batch];
  for (int l = 0; l < philox_batch; ++l) counter[l] = static_cast<std::uint64_t>(first_counter + l);
  philox_pairs(key, counter, 0, first, second);
  for (int l = 0; l < philox_batch; ++l) {
    pair[2 * l] = first[l];
    pair[2 * l + 1] = second[l];
  }
  std::memcpy(half, pair, sizeof pair);  // little-endian, as all machines that Kokkos runs on
}

/// y = factor * x where the element's random half word is at least `threshold`, 0 elsewhere.
template <class T>
struct dropout_kernel {
  using A = compute_t<T>;
  static constexpr int operands = 1;
  nest<1> where;
  index n, offset;
  std::uint64_t key;
  std::uint16_t threshold;
  A factor;
  T* y;
  T const* x;

  KOKKOS_FUNCTION T value(index i, index const (&at)[1]) const { return one(i, offset + at[0]); }
  KOKKOS_FUNCTION void put(index i, index const (& /*at*/)[1], T kept) const { y[i] = kept; }
  void block(index b) const {
    index i = b * host_grain;
    index const stride = where.inner_stride(0);
    where.for_runs(i, std::min(n, i + host_grain), [&](index const(&at)[1], index m) {
      index const g = offset + at[0];
      index j = 0;
      if (stride == 1) {
        for (; j < m && (g + j) % neighbours != 0; ++j) y[i + j] = one(i + j, g + j);
        for (; j + batch <= m; j += batch) put_batch(i + j, (g + j) / neighbours);
      }
      for (; j < m; ++j) y[i + j] = one(i + j, g + j * stride);
      i += m;
    });
  }

 private:
  static constexpr index neighbours = 8, batch = neighbours * philox_batch;

  KOKKOS_FORCEINLINE_FUNCTION T one(index i, index g) const {
    return dropout_half(key, g) >= threshold ? convert<T>(load(x[i]) * factor) : T(0);
  }
  void put_batch(index i, index first_counter) const {
    alignas(64) std::uint16_t half[batch];
    dropout_halves(key, first_counter, half);
    T* const to = y + i;
    T const* const from = x + i;
    auto const least = threshold;
    auto const scale = factor;
    MTF_SIMD
    for (index e = 0; e < batch; ++e) {
      T const kept = convert<T>(load(from[e]) * scale);
      to[e] = half[e] >= least ? kept : T(0);
    }
  }
};

#if MTF_HAS_DEVICES
/// The same by a device's threads, of which each has the elements that share a counter, where neighbours in the shard
/// are neighbours in the global order: `run` at a time, which `groups` of such elements may reach into.
template <class T>
struct dropout_groups_body {
  static constexpr int width = 8;
  dropout_kernel<T> of;
  index run, groups;

  KOKKOS_FUNCTION void operator()(index item) const {
    index const i = item / groups * run;
    index at[1];
    of.where.locate(i, at);
    index const g = of.offset + at[0], begin = item % groups * width - g % width;
    if (begin >= run) return;
    auto const words = philox(of.key, static_cast<std::uint64_t>((g + begin) / width), 0);
    T const* const from = of.x + i + begin;
    T* const to = of.y + i + begin;
    auto const kept = [&](int v, T x) {
      return (words.word[v / 2] >> (v % 2 == 0 ? 0U : 16U) & 0xffffU) >= of.threshold ? convert<T>(load(x) * of.factor)
                                                                                      : T(0);
    };
    if (begin >= 0 && begin + width <= run) {
      bool const whole = begins_whole<width>(from) && begins_whole<width>(to);
      auto all = load_pack<width>(from, 1, width, whole);
      for (int v = 0; v < width; ++v) all.x[v] = kept(v, all.x[v]);
      store_pack<width>(to, 1, width, whole, all);
    } else {
      for (int v = 0; v < width; ++v)
        if (begin + v >= 0 && begin + v < run) to[v] = kept(v, from[v]);
    }
  }
};
#endif

template <class Exec, class T>
void dropout(device<Exec>& on, placement const& p, std::uint64_t key, double rate, T* y, T const* x) {
  dropout_rate const r(rate);
  index const n = p.local.size();
  if (r.threshold == dropout_rate::all) return compute(on, primitives::fill<T>{y, n, T(0)});
  dropout_kernel<T> const kernel{nest_of(p.local),
                                 n,
                                 p.offset,
                                 key,
                                 static_cast<std::uint16_t>(r.threshold),
                                 static_cast<compute_t<T>>(r.factor),
                                 y,
                                 x};
#if MTF_HAS_DEVICES
  if constexpr (!runs_on_host<Exec>)
    if (n > 0 && kernel.where.inner_stride(0) == 1) {
      using body = dropout_groups_body<T>;
      index const run = kernel.where.l.extent[static_cast<std::size_t>(kernel.where.l.ndim - 1)],
                  groups = ceil_div(run + body::width - 1, body::width);
      return for_elements("mtf::dropout", on.exec, n / run * groups, body{kernel, run, groups});
    }
#endif
  launch_nest("mtf::dropout", on.exec, kernel);
}

template <class Exec, class T>
void compute(device<Exec>& on, primitives::random_uniform<T> const& p) {
  generate(on, p.of, p.key, p.out, uniform_numbers{p.low, p.high - p.low});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::random_normal<T> const& p) {
  generate(on, p.of, p.key, p.out, normal_numbers{p.mean, p.stddev});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::random_truncated_normal<T> const& p) {
  generate(on, p.of, p.key, p.out, truncated_normal_numbers{p.mean, p.stddev});
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::dropout<T> const& p) {
  dropout(on, p.of, p.key, p.rate, p.y, p.x);
}

template <class Exec, class T>
void compute(device<Exec>& on, primitives::add_gumbel<T> const& p) {
  launch_nest(p.name, on.exec,
              gumbel_kernel<T>{nest_of(p.of.local), p.of.local.size(), p.of.offset, p.key, p.scale, p.y, p.x});
}

MTF_COMPILED(device, random_uniform)
MTF_COMPILED(device, random_normal)
MTF_COMPILED(device, random_truncated_normal)
MTF_COMPILED(device, dropout)
MTF_COMPILED(device, add_gumbel)

}  // namespace mtf::kokkos
