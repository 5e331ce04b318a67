#pragma once
// Products of a few rows with a matrix, as tokens of generation need them: the matrix is read once, at the speed
// of memory. (oneDNN 2.6 takes up to three times as long: it copies and packs what it multiplies.) A row's sums are
// taken in the same order however many rows there are: a text does not depend on what is written beside it.
#include <algorithm>
#include <type_traits>

#include <mtf/kokkos/launch/nest.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// Up to so many rows.
inline constexpr index few_rows = 64;

/// x y + z, rounded once where the processor can: said, as compilers do the one here and the other there.
template <class A>
inline A multiplied_added(A x, A y, A z) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  if constexpr (std::is_same_v<A, float>)
    return __builtin_fmaf(x, y, z);
  else
    return __builtin_fma(x, y, z);
#else
  return x * y + z;
#endif
}

/// Is it such a product? (Also of a small matrix: what a row comes to is to depend on nothing else.)
constexpr bool has_few_rows(contraction const& w) {
  return w.batch.size() == 1 && w.m <= few_rows && w.k > 0 && (w.b_k == 1 || w.b_n == 1);
}

/// c = a b, of columns [begin, end). `rows`: a, widened: each row of k elements; or, of more than a tile, packed:
/// sixteen rows side by side, [m / 16, k, 16]. Either way a sum is that of every term of `lanes`, and then of these.
template <class T>
struct contract_columns_of_rows {
  using A = compute_t<T>;
  static constexpr index lanes = std::is_same_v<T, A> ? 4 : 16;  // as many as are widened in one instruction
  static constexpr index tile = 4, pack = 16;
  static constexpr index most_sums = 4096;
  contraction what;
  index width;  // of the columns that are done at a time
  A const* rows;
  T const* b;
  T* c;
  bool accumulate;
  T const* bias;

  void operator()(index t) const {
    index const begin = t * width, end = std::min(what.n, begin + width);
    if (what.b_k == 1)
      dots(begin, end);
    else
      sums(begin, end);
  }

 private:
  void put(index i, index j, A sum) const {
    T& to = c[i * what.c_m + j * what.c_n];
    A const before = accumulate ? load(to) : bias != nullptr ? load(bias[j]) : A(0);
    to = convert<T>(before + sum);
  }

  /// Columns that lie in one piece.
  void dots(index begin, index end) const {
    switch (what.m) {
      case 1:
        return few_dots<1, 2 * tile>(begin, end);
      case 2:
        return few_dots<2, 2 * tile>(begin, end);
      case 3:
        return few_dots<3, tile>(begin, end);
      case tile:
        return few_dots<tile, tile>(begin, end);
      default:
        break;
    }
    index j = begin;
    for (; j + tile <= end; j += tile) packed_dots<tile>(j);
    for (; j < end; ++j) packed_dots<1>(j);
  }
  template <index Rows, index Columns>
  void few_dots(index begin, index end) const {
    index j = begin;
    for (; j + Columns <= end; j += Columns) dots_of<Rows, Columns>(j);
    for (; j < end; ++j) dots_of<Rows, 1>(j);
  }
  static void add_product(A& to, A x, A y) { to = multiplied_added(x, y, to); }
  /// Of N sums side by side: halves of their lanes are added to halves, until the first has all.
  template <index N, index Half = lanes / 2>
  static void add_lanes(A* part) {
    MTF_SIMD
    for (index i = 0; i < Half * N; ++i) part[i] += part[i + Half * N];
    if constexpr (Half > 1) add_lanes<N, Half / 2>(part);
  }

  template <index Rows, index Columns>
  void dots_of(index j) const {
    T const* const y = b + j * what.b_n;
    A part[Rows][Columns][lanes] = {};
    index k = 0;
    for (; k + lanes <= what.k; k += lanes)
      for (index q = 0; q < Columns; ++q)
        for (index r = 0; r < Rows; ++r) {
          MTF_SIMD
          for (index l = 0; l < lanes; ++l)
            add_product(part[r][q][l], rows[r * what.k + k + l], load(y[q * what.b_n + k + l]));
        }
    for (index r = 0; r < Rows; ++r)
      for (index q = 0; q < Columns; ++q) {
        for (index l = 0; k + l < what.k; ++l)
          add_product(part[r][q][l], rows[r * what.k + k + l], load(y[q * what.b_n + k + l]));
        add_lanes<1>(part[r][q]);
        put(r, j + q, part[r][q][0]);
      }
  }
  /// The columns of the first sixteen rows are in the caches for the others. Four lanes at a time are in registers.
  template <index Columns>
  void packed_dots(index j) const {
    constexpr index some = 4;
    T const* const y = b + j * what.b_n;
    for (index first = 0; first < what.m; first += pack) {
      A const* const x = rows + first * what.k;
      A all[Columns][lanes][pack];
      for (index lane = 0; lane < lanes; lane += some) {
        A part[Columns][some][pack] = {};
        index k = lane;
        for (; k + some <= what.k; k += lanes)
          for (index l = 0; l < some; ++l) {
            MTF_SIMD
            for (index r = 0; r < pack; ++r)
              for (index q = 0; q < Columns; ++q)
                add_product(part[q][l][r], x[(k + l) * pack + r], load(y[q * what.b_n + k + l]));
          }
        for (index l = 0; k + l < what.k; ++l)
          for (index q = 0; q < Columns; ++q)
            for (index r = 0; r < pack; ++r)
              add_product(part[q][l][r], x[(k + l) * pack + r], load(y[q * what.b_n + k + l]));
        for (index q = 0; q < Columns; ++q) std::copy_n(&part[q][0][0], some * pack, &all[q][lane][0]);
      }
      for (index q = 0; q < Columns; ++q) {
        add_lanes<pack>(&all[q][0][0]);
        for (index r = 0; r < std::min(pack, what.m - first); ++r) put(first + r, j + q, all[q][0][r]);
      }
    }
  }

  [[nodiscard]] A row(index i, index k) const {
    return what.m <= tile ? rows[i * what.k + k] : rows[(i / pack * what.k + k) * pack + i % pack];
  }
  /// Rows of the matrix lie in one piece: four at a time are added.
  void sums(index begin, index end) const {
    alignas(64) A sum[most_sums];
    index const n = end - begin;
    std::fill_n(sum, what.m * n, A(0));
    index k = 0;
    for (; k + 4 <= what.k; k += 4) {
      T const* const y = b + k * what.b_k + begin;
      for (index i = 0; i < what.m; ++i) {
        A const x[4] = {row(i, k), row(i, k + 1), row(i, k + 2), row(i, k + 3)};
        add(sum + i * n, n, x, y, y + what.b_k, y + 2 * what.b_k, y + 3 * what.b_k);
      }
    }
    for (; k < what.k; ++k)
      for (index i = 0; i < what.m; ++i) {
        A const x = row(i, k);
        T const* const y = b + k * what.b_k + begin;
        MTF_SIMD
        for (index j = 0; j < n; ++j) add_product(sum[i * n + j], x, load(y[j]));
      }
    for (index i = 0; i < what.m; ++i)
      for (index j = 0; j < n; ++j) put(i, begin + j, sum[i * n + j]);
  }
  static void add(A* sum, index n, A const* x, T const* y0, T const* y1, T const* y2, T const* y3) {
    A const x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    MTF_SIMD
    for (index j = 0; j < n; ++j) {
      add_product(sum[j], x0, load(y0[j]));
      add_product(sum[j], x1, load(y1[j]));
      add_product(sum[j], x2, load(y2[j]));
      add_product(sum[j], x3, load(y3[j]));
    }
  }
};

template <class Exec, class T>
void contract_rows(device<Exec>& on, contraction const& w, T const* a, T const* b, T* c, bool accumulate,
                   T const* bias) {
  using A = compute_t<T>;
  using kernel_type = contract_columns_of_rows<T>;
  constexpr index pack = kernel_type::pack;
  bool const packed = w.m > kernel_type::tile;
  workspace<A, Exec> rows(on, (packed ? ceil_div(w.m, pack) * pack : w.m) * w.k);
  on.exec.fence();
  A* to = rows.get();
  if (packed) {
    for (index first = 0; first < w.m; first += pack)
      for (index k = 0; k < w.k; ++k)
        for (index i = first; i < first + pack; ++i) *to++ = i < w.m ? load(a[i * w.a_m + k * w.a_k]) : A(0);
  } else {
    for (index i = 0; i < w.m; ++i)
      for (index k = 0; k < w.k; ++k) *to++ = load(a[i * w.a_m + k * w.a_k]);
  }
  constexpr index least = 64;
  index const parts = 4 * static_cast<index>(on.exec.concurrency());
  index const widest = std::min<index>(kernel_type::most_sums / w.m, 1024) / least * least;
  index const width = std::clamp(ceil_div(ceil_div(w.n, parts), least) * least, least, widest);
  kernel_type const kernel{w, width, rows.get(), b, c, accumulate, bias};
  Kokkos::parallel_for("mtf::contract_rows", range_policy<Exec>(on.exec, 0, ceil_div(w.n, width)), kernel);
  on.exec.fence();
}

}  // namespace mtf::kokkos
