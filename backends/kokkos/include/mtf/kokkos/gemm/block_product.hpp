#pragma once
// Products of blocks that stay in a core's cache, by one thread: what fused kernels are made of. A library's product
// packs both of its operands at each call, which for blocks takes as long as half the product. Here the right operand
// is packed once for all products that it has a part in, the left one is read where it lies, and terms that a mask
// hides are left out tile by tile.
#include <cstring>
#include <utility>

#include <mtf/kokkos/launch/transpose_block.hpp>
#include <mtf/kokkos/launch/vectors.hpp>

namespace mtf::kokkos {

#if defined(__AVX512F__)
inline constexpr int tile_rows = 8;
#else
inline constexpr int tile_rows = 6;  // 12 sums, two vectors of b and one of a in 16 registers
#endif

constexpr index round_up(index n, index to) { return ceil_div(n, to) * to; }

/// Rows of adjacent elements, `stride` apart.
template <class T>
struct strided_rows {
  T* at;
  index stride;
  [[nodiscard]] MTF_FUNCTION T* operator[](index r) const { return at + r * stride; }
};

/// A matrix split into panels of two vectors' columns: element (k, j) of panel p lies at p * rows * width + k * width +
/// j. The last panel is filled up with zeros.
template <class A>
struct panels {
  static constexpr index width = 2 * vector_lanes<A>;
  A* at;
  index rows;

  [[nodiscard]] static constexpr index size(index rows, index columns) { return rows * round_up(columns, width); }
  /// The panel that begins with column j.
  [[nodiscard]] A* from(index j) const { return at + j * rows; }

  /// Element (k, j) = x[k][j].
  template <class T>
  void pack(strided_rows<T const> x, index columns) const {
    for (index j = 0; j < columns; j += width) {
      A* to = from(j);
      index const n = std::min(width, columns - j);
      for (index k = 0; k < rows; ++k, to += width) {
        T const* const row = x[k] + j;
        if (n == width) {
          MTF_SIMD
          for (index c = 0; c < width; ++c) to[c] = load(row[c]);
        } else {
          for (index c = 0; c < width; ++c) to[c] = c < n ? load(row[c]) : A(0);
        }
      }
    }
  }
  /// Element (k, j) = x[j][k].
  void pack_transposed(strided_rows<A const> x, index columns) const {
    index const blocks = has_block_transpose ? rows / 8 * 8 : 0;
    for (index j = 0; j < columns; j += width) {
      A* const to = from(j);
      index const n = std::min(width, columns - j), whole = n / 8 * 8;
      for (index c = 0; c < whole; c += 8)
        for (index k = 0; k < blocks; k += 8) transpose_block(to + k * width + c, width, x[j + c] + k, x.stride);
      for (index k = 0; k < rows; ++k)
        for (index c = k < blocks ? whole : 0; c < width; ++c) to[k * width + c] = c < n ? x[j + c][k] : A(0);
    }
  }
};

/// The terms of a sum that are computed.
struct term_range {
  index begin, end;
};

/// The left operand: a(i, k) = at[i * row + k * term].
template <class A>
struct left_operand {
  A const* at;
  index row, term;
};

/// What a sum gets of one element of each operand.
struct product {
  template <class A, class Vector>
  [[gnu::always_inline]] Vector operator()(Vector sum, A a, Vector b) const {
    return sum + a * b;
  }
};

/// c[i, 0..width) = the sum over the terms of a(i, k) b[k, 0..width), or += that, for Rows rows i.
template <class Term, int Rows, class A>
void multiply_tile(left_operand<A> a, A const* b, term_range terms, strided_rows<A> c, bool accumulate) {
  using vector = typename vector_of<A>::type;
  constexpr index lanes = vector_lanes<A>;
  auto const at = [](A const* p) MTF_INLINE_LAMBDA {
    vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  // Every row is spelled out: in a loop over rows the sums would not stay in registers.
  [&]<int... R>(std::integer_sequence<int, R...>) MTF_INLINE_LAMBDA {
    vector sum[Rows][2] = {};
    A const* x = a.at + terms.begin * a.term;
    b += terms.begin * 2 * lanes;
    for (index k = terms.begin; k < terms.end; ++k, x += a.term, b += 2 * lanes) {
      vector const b0 = at(b), b1 = at(b + lanes);
      ((sum[R][0] = Term{}(sum[R][0], x[R * a.row], b0), sum[R][1] = Term{}(sum[R][1], x[R * a.row], b1)), ...);
    }
    auto const store = [&](A* p, vector s) MTF_INLINE_LAMBDA {
      if (accumulate) s += at(p);
      std::memcpy(p, &s, sizeof s);
    };
    ((store(c[R], sum[R][0]), store(c[R] + lanes, sum[R][1])), ...);
  }(std::make_integer_sequence<int, Rows>{});
}

/// The same for a number of rows known at run time, at most Rows.
template <class Term, int Rows, class A>
void multiply_rows(index rows, left_operand<A> a, A const* b, term_range terms, strided_rows<A> c, bool accumulate) {
  if (rows == Rows)
    multiply_tile<Term, Rows>(a, b, terms, c, accumulate);
  else if constexpr (Rows > 1)
    multiply_rows<Term, Rows - 1>(rows, a, b, terms, c, accumulate);
}

/// c[m, n] = a b, or += that, tile by tile. The tile with the rows [i, i + rows) and the columns from j on is
/// a sum over the terms in terms(i, rows, j); without terms it is left as it is.
template <class Term = product, class A, class Terms>
void multiply_block(index m, index n, left_operand<A> a, panels<A> b, strided_rows<A> c, bool accumulate,
                    Terms const& terms) {
  constexpr index width = panels<A>::width;
  for (index j = 0; j < n; j += width) {
    index const columns = std::min(width, n - j);
    for (index i = 0; i < m; i += tile_rows) {
      index const rows = std::min<index>(tile_rows, m - i);
      term_range const range = terms(i, rows, j);
      if (range.begin >= range.end) continue;
      left_operand<A> const from{a.at + i * a.row, a.row, a.term};
      strided_rows<A> const to{c[i] + j, c.stride};
      if (columns == width) {
        multiply_rows<Term, tile_rows>(rows, from, b.from(j), range, to, accumulate);
        continue;
      }
      alignas(vector_bytes) A tile[tile_rows * width];
      multiply_rows<Term, tile_rows>(rows, from, b.from(j), range, {tile, width}, false);
      for (index r = 0; r < rows; ++r)
        for (index k = 0; k < columns; ++k) to[r][k] = tile[r * width + k] + (accumulate ? to[r][k] : A(0));
    }
  }
}

}  // namespace mtf::kokkos
