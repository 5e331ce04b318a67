#pragma once
// Products of blocks of bfloat16 (block_product.hpp: of other types). Two numbers that are adjacent along the sum are a
// pair, which lies in the place of a float: so operands are packed as blocks of float are, and have half as many terms.
// Products are exact, sums are float's. Subnormal numbers count as 0, as in the library's products of bfloat16.
#include <cstring>

#include <mtf/core/element.hpp>
#include <mtf/kokkos/gemm/bfloat16_units.hpp>
#include <mtf/kokkos/gemm/block_product.hpp>

#if defined(__AVX512BF16__) && defined(__AVX512BW__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#include <immintrin.h>
/// Is the program built for processors that have vdpbf16ps?
#define MTF_PAIR_PRODUCTS 1
#else
/// The same.
#define MTF_PAIR_PRODUCTS 0
#endif

#if MTF_PAIR_PRODUCTS && defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
/// Is the program built for processors that have AMX's tiles?
#define MTF_TILE_PRODUCTS 1
#else
/// The same.
#define MTF_TILE_PRODUCTS 0
#endif

namespace mtf::kokkos {

/// What multiplies blocks of bfloat16.
enum class pair_unit { none, dot, tiles };

#if MTF_TILE_PRODUCTS
/// Whether Linux lets this process use tiles, which it must be asked for once.
inline bool tiles_are_permitted() {
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static bool const permitted = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return permitted;
}
#endif

/// The fastest that the build has and the processor's kind: tiles, or AVX-512's vdpbf16ps where it is faster than
/// products of float.
inline pair_unit fastest_pair_unit() {
#if MTF_PAIR_PRODUCTS
  static pair_unit const fastest = [] {
    auto const here = bfloat16_units::here();
#if MTF_TILE_PRODUCTS
    if (here.amx && here.described && tiles_are_permitted()) return pair_unit::tiles;
#endif
    return here.dot_pays() ? pair_unit::dot : pair_unit::none;
  }();
  return fastest;
#else
  return pair_unit::none;
#endif
}

#if MTF_PAIR_PRODUCTS

/// Pairs in a row of a tile. Sums begin and end at multiples of them, so operands have zeros there.
inline constexpr index tile_pairs = 16;
/// Rows and columns that are multiplied at once by tiles, two of them each way.
inline constexpr index tile_block = 32;

/// How many pairs n numbers are, with zeros to whole tiles.
constexpr index pairs_of(index n) { return round_up(ceil_div(n, 2), tile_pairs); }

/// A dense copy of rows of `n` numbers as pairs.
inline strided_rows<float const> pair_rows(strided_rows<bfloat16 const> x, index rows, index n, float* copy) {
  index const terms = pairs_of(n);
  auto* to = reinterpret_cast<std::byte*>(copy);
  auto const row = static_cast<std::size_t>(terms) * sizeof(float),
             used = static_cast<std::size_t>(n) * sizeof(bfloat16);
  for (index r = 0; r < rows; ++r, to += row) {
    std::memcpy(to, x[r], used);
    std::memset(to + used, 0, row - used);
  }
  return {copy, terms};
}

/// Panels of pairs of rows: element (k, j) = (x[2 k][j], x[2 k + 1][j]).
inline void pack_row_pairs(panels<float> to, strided_rows<bfloat16 const> x, index rows, index columns) {
  constexpr index width = panels<float>::width;
  auto const interleave = [](float* pairs, void const* low, void const* high) {
    constexpr index width = panels<float>::width;
    std::uint16_t first[width], second[width];
    std::uint32_t both[width];
    std::memcpy(first, low, sizeof first);
    std::memcpy(second, high, sizeof second);
    MTF_SIMD
    for (index c = 0; c < width; ++c) both[c] = first[c] | (static_cast<std::uint32_t>(second[c]) << 16U);
    std::memcpy(pairs, both, sizeof both);
  };
  for (index j = 0; j < columns; j += width) {
    index const n = std::min(width, columns - j);
    float* pairs = to.from(j);
    for (index k = 0; k < to.rows; ++k, pairs += width)
      if (2 * k + 1 < rows && n == width) {
        interleave(pairs, x[2 * k] + j, x[2 * k + 1] + j);
      } else {
        std::uint16_t edge[2][width] = {};
        for (index r = 0; r < 2; ++r)
          if (2 * k + r < rows) std::memcpy(edge[r], x[2 * k + r] + j, static_cast<std::size_t>(n) * sizeof(bfloat16));
        interleave(pairs, edge[0], edge[1]);
      }
  }
}

/// The transpose of rows of `columns` numbers, as pairs: element (h, k) = (x[2 k][h], x[2 k + 1][h]).
inline strided_rows<float const> transpose_to_pairs(strided_rows<bfloat16 const> x, index rows, index columns,
                                                    float* copy) {
  index const terms = pairs_of(rows), whole = has_block_transpose ? rows / 8 * 8 : 0, blocks = columns / 8 * 8;
  auto* const to = reinterpret_cast<std::uint16_t*>(copy);
  auto const from = [&](index r) { return reinterpret_cast<std::uint16_t const*>(x[r]); };
  for (index r = 0; r < whole; r += 8)
    for (index h = 0; h < blocks; h += 8) transpose_block(to + h * 2 * terms + r, 2 * terms, from(r) + h, x.stride);
  for (index h = 0; h < columns; ++h) {
    for (index r = h < blocks ? whole : 0; r < rows; ++r) to[h * 2 * terms + r] = from(r)[h];
    std::fill(to + h * 2 * terms + rows, to + (h + 1) * 2 * terms, std::uint16_t{0});
  }
  return {copy, terms};
}

/// Pairs of a row's n numbers, a multiple of 32, each rounded.
inline void round_to_pairs(float* to, float const* from, index n) {
  for (index j = 0; j < n; j += 32)
    _mm512_storeu_si512(to + j / 2,
                        (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + j + 16), _mm512_loadu_ps(from + j)));
}
/// Panels' row k, of pairs of two rows' numbers: element (k, j) = (low[j], high[j]), each rounded; n is a multiple
/// of 32.
inline void round_to_row_pairs(panels<float> to, index k, float const* low, float const* high, index n) {
  alignas(64) static constexpr std::uint16_t order[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                          8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  auto const interleaved = _mm512_load_si512(order);
  constexpr index width = panels<float>::width;
  for (index j = 0; j < n; j += 16) {
    auto const both = (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(high + j), _mm512_loadu_ps(low + j));
    _mm512_storeu_si512(to.from(j / width * width) + k * width + j % width,
                        _mm512_permutexvar_epi16(interleaved, both));
  }
}

/// What a sum gets of one pair of each operand.
struct pair_product {
  using vector = vector_of<float>::type;
  [[gnu::always_inline]] vector operator()(vector sum, float a, vector b) const {
    return (vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_ps(a), (__m512bh)b);
  }
};

#if MTF_TILE_PRODUCTS
/// c[0..16 M, 0..16 N) = a b, or += that. Rows of b are a panel's.
template <int M, int N>
void multiply_tiles(strided_rows<float const> a, float const* b, term_range terms, strided_rows<float> c,
                    bool accumulate) {
  constexpr index bytes = sizeof(float), width = panels<float>::width;
  // GCC's tile loads do not say that they read memory: what was stored must be there.
  asm volatile("" ::: "memory");
  if (accumulate) {
    _tile_loadd(0, c[0], c.stride * bytes);
    if constexpr (N > 1) _tile_loadd(1, c[0] + 16, c.stride * bytes);
    if constexpr (M > 1) _tile_loadd(2, c[16], c.stride * bytes);
    if constexpr (M > 1 && N > 1) _tile_loadd(3, c[16] + 16, c.stride * bytes);
  } else {
    _tile_zero(0);
    if constexpr (N > 1) _tile_zero(1);
    if constexpr (M > 1) _tile_zero(2);
    if constexpr (M > 1 && N > 1) _tile_zero(3);
  }
  for (index k = terms.begin; k < terms.end; k += tile_pairs) {
    _tile_loadd(4, a[0] + k, a.stride * bytes);
    if constexpr (M > 1) _tile_loadd(5, a[16] + k, a.stride * bytes);
    _tile_loadd(6, b + k * width, width * bytes);
    if constexpr (N > 1) _tile_loadd(7, b + k * width + 16, width * bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (N > 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (M > 1) _tile_dpbf16ps(2, 5, 6);
    if constexpr (M > 1 && N > 1) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c[0], c.stride * bytes);
  if constexpr (N > 1) _tile_stored(1, c[0] + 16, c.stride * bytes);
  if constexpr (M > 1) _tile_stored(2, c[16], c.stride * bytes);
  if constexpr (M > 1 && N > 1) _tile_stored(3, c[16] + 16, c.stride * bytes);
}
#endif

/// The unit that a thread multiplies with, as long as it lives: no library's product may be called meanwhile.
class pair_multiplier {
 public:
  explicit pair_multiplier([[maybe_unused]] pair_unit unit) {
#if MTF_TILE_PRODUCTS
    if (unit != pair_unit::tiles) return;
    tiles_ = true;
    struct alignas(64) {  // of all eight tiles 16 rows of 64 bytes
      std::uint8_t palette = 1, start_row = 0, unused[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } const configuration;
    asm volatile("" ::"m"(configuration));
    _tile_loadconfig(&configuration);
#endif
  }
  pair_multiplier(pair_multiplier const&) = delete;
  pair_multiplier& operator=(pair_multiplier const&) = delete;
  ~pair_multiplier() {
#if MTF_TILE_PRODUCTS
    if (tiles_) _tile_release();
#endif
  }

  /// c[m, n] = a b, or += that, in blocks. The block with the rows [i, i + rows) and the columns from j on is a sum
  /// over the pairs in terms(i, rows, j), of which there may be some more that are zero in one operand; without terms
  /// it is left as it is. There is memory for a's rows up to a multiple of 32.
  template <class Terms>
  void multiply(index m, index n, strided_rows<float const> a, panels<float> b, strided_rows<float> c, bool accumulate,
                Terms const& terms) const {
#if MTF_TILE_PRODUCTS
    if (tiles_) return multiply_in_tiles(m, n, a, b, c, accumulate, terms);
#endif
    multiply_block<pair_product>(m, n, {a.at, a.stride, 1}, b, c, accumulate, terms);
  }

 private:
#if MTF_TILE_PRODUCTS
  template <class Terms>
  static void multiply_in_tiles(index m, index n, strided_rows<float const> a, panels<float> b, strided_rows<float> c,
                                bool accumulate, Terms const& terms) {
    static_assert(panels<float>::width == tile_block);
    for (index j = 0; j < n; j += tile_block) {
      index const columns = std::min(tile_block, n - j);
      for (index i = 0; i < m; i += tile_block) {
        index const rows = std::min(tile_block, m - i);
        term_range range = terms(i, rows, j);
        if (range.begin >= range.end) continue;
        range = {range.begin / tile_pairs * tile_pairs, round_up(range.end, tile_pairs)};
        strided_rows<float const> const from{a[i], a.stride};
        strided_rows<float> const to{c[i] + j, c.stride};
        if (rows == tile_block && columns == tile_block) {
          multiply_tiles<2, 2>(from, b.from(j), range, to, accumulate);
          continue;
        }
        alignas(64) float edge[tile_block * tile_block];
        strided_rows<float> const block{edge, tile_block};
        auto const of_edge = rows > 16 ? (columns > 16 ? multiply_tiles<2, 2> : multiply_tiles<2, 1>)
                                       : (columns > 16 ? multiply_tiles<1, 2> : multiply_tiles<1, 1>);
        of_edge(from, b.from(j), range, block, false);
        for (index r = 0; r < rows; ++r)
          for (index k = 0; k < columns; ++k) to[r][k] = block[r][k] + (accumulate ? to[r][k] : 0.0F);
      }
    }
  }
  bool tiles_ = false;
#endif
};

#endif

}  // namespace mtf::kokkos
