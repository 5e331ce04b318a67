#pragma once
// Products of a few rows with a large matrix, as a token of generation needs them: the matrix is read once, at the
// speed of memory. (oneDNN 2.6 takes up to three times as long: it copies and packs what it multiplies.) A row's sums
// are taken in the same order however many rows there are.
#include <algorithm>

#include <mtf/kokkos/launch/nest.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// Up to so many rows.
inline constexpr index few_rows = 4;

/// Is it such a product, and the matrix so large that its memory is what counts?
constexpr bool has_few_rows(contraction const& w) {
  constexpr index large = 1 << 16;
  return w.batch.size() == 1 && w.m <= few_rows && w.k > 0 && w.n * w.k >= large && (w.b_k == 1 || w.b_n == 1);
}

/// c = a b, of columns [begin, end). `rows`: a, widened, each row of k elements.
template <class T>
struct contract_columns_of_rows {
  using A = compute_t<T>;
  static constexpr index widest = 1024, lanes = 64;
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

  /// Columns that lie in one piece. That of a first row is in the caches for the others.
  void dots(index begin, index end) const {
    for (index j = begin; j < end; ++j)
      for (index i = 0; i < what.m; ++i) put(i, j, dot(rows + i * what.k, b + j * what.b_n));
  }
  [[nodiscard]] A dot(A const* x, T const* y) const {
    A part[lanes] = {};
    index k = 0;
    for (; k + lanes <= what.k; k += lanes) {
      MTF_SIMD
      for (index l = 0; l < lanes; ++l) part[l] += x[k + l] * load(y[k + l]);
    }
    for (index l = 0; k + l < what.k; ++l) part[l] += x[k + l] * load(y[k + l]);
    for (index half = lanes / 2; half > 0; half /= 2)
      for (index l = 0; l < half; ++l) part[l] += part[l + half];
    return part[0];
  }

  /// Rows of the matrix lie in one piece: four at a time are added.
  void sums(index begin, index end) const {
    alignas(64) A sum[few_rows][widest];
    index const n = end - begin;
    for (index i = 0; i < what.m; ++i) std::fill_n(sum[i], n, A(0));
    index k = 0;
    for (; k + 4 <= what.k; k += 4) {
      T const* const y = b + k * what.b_k + begin;
      for (index i = 0; i < what.m; ++i) {
        A const* const x = rows + i * what.k + k;
        add(sum[i], n, x, y, y + what.b_k, y + 2 * what.b_k, y + 3 * what.b_k);
      }
    }
    for (; k < what.k; ++k)
      for (index i = 0; i < what.m; ++i) {
        A const x = rows[i * what.k + k];
        T const* const y = b + k * what.b_k + begin;
        MTF_SIMD
        for (index j = 0; j < n; ++j) sum[i][j] += x * load(y[j]);
      }
    for (index i = 0; i < what.m; ++i)
      for (index j = 0; j < n; ++j) put(i, begin + j, sum[i][j]);
  }
  static void add(A* sum, index n, A const* x, T const* y0, T const* y1, T const* y2, T const* y3) {
    A const x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    MTF_SIMD
    for (index j = 0; j < n; ++j)
      sum[j] = (((sum[j] + x0 * load(y0[j])) + x1 * load(y1[j])) + x2 * load(y2[j])) + x3 * load(y3[j]);
  }
};

template <class Exec, class T>
void contract_rows(device<Exec>& on, contraction const& w, T const* a, T const* b, T* c, bool accumulate,
                   T const* bias) {
  using A = compute_t<T>;
  workspace<A, Exec> rows(on, w.m * w.k);
  on.exec.fence();
  for (index i = 0; i < w.m; ++i)
    for (index k = 0; k < w.k; ++k) rows.get()[i * w.k + k] = load(a[i * w.a_m + k * w.a_k]);
  constexpr index least = 64;
  index const parts = 4 * static_cast<index>(on.exec.concurrency());
  index const width =
      std::clamp(ceil_div(ceil_div(w.n, parts), least) * least, least, contract_columns_of_rows<T>::widest);
  contract_columns_of_rows<T> const kernel{w, width, rows.get(), b, c, accumulate, bias};
  Kokkos::parallel_for("mtf::contract_rows", range_policy<Exec>(on.exec, 0, ceil_div(w.n, width)), kernel);
  on.exec.fence();
}

}  // namespace mtf::kokkos
