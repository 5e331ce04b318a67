#pragma once
// Matrix products in plain loops: for element types that the vendor's library lacks (double in oneDNN 2.6, bfloat16 on
// older processors). Tiles of 8 x 64 results; the operands are packed, so any strides will do.
#include <mtf/kokkos/launch/nest.hpp>

namespace mtf::kokkos {

template <class T>
struct contract_tiles {
  using A = compute_t<T>;
  static constexpr index m_tile = 8, n_tile = sizeof(A) == 8 ? 32 : 64, k_tile = 128;
  contraction what;
  nest<3> batch;
  T const* a;
  T const* b;
  T* c;
  bool accumulate;
  T const* bias;

  [[nodiscard]] index tiles() const { return what.batch.size() * ceil_div(what.m, m_tile) * ceil_div(what.n, n_tile); }

  void operator()(index t) const {
    index const n_tiles = ceil_div(what.n, n_tile), m_tiles = ceil_div(what.m, m_tile);
    index at[3];
    batch.locate(t / n_tiles / m_tiles, at);
    index const i0 = t / n_tiles % m_tiles * m_tile, j0 = t % n_tiles * n_tile;
    index const mr = std::min(m_tile, what.m - i0), nr = std::min(n_tile, what.n - j0);
    T const* const from_a = a + at[0] + i0 * what.a_m;
    T const* const from_b = b + at[1] + j0 * what.b_n;

    alignas(64) A sums[m_tile][n_tile] = {};
    alignas(64) A panel_a[m_tile][k_tile] = {};
    alignas(64) A panel_b[k_tile][n_tile] = {};
    for (index k0 = 0; k0 < what.k; k0 += k_tile) {
      index const kr = std::min(k_tile, what.k - k0);
      for (index i = 0; i < mr; ++i)
        for (index k = 0; k < kr; ++k) panel_a[i][k] = load(from_a[i * what.a_m + (k0 + k) * what.a_k]);
      for (index k = 0; k < kr; ++k)
        for (index j = 0; j < nr; ++j) panel_b[k][j] = load(from_b[(k0 + k) * what.b_k + j * what.b_n]);
      for (index i = 0; i < mr; ++i) multiply(sums[i], panel_a[i], panel_b, kr);
    }
    for (index i = 0; i < mr; ++i)
      for (index j = 0; j < nr; ++j) {
        T& to = c[at[2] + (i0 + i) * what.c_m + (j0 + j) * what.c_n];
        A const before = accumulate ? load(to) : bias != nullptr ? load(bias[j0 + j]) : A(0);
        to = convert<T>(before + sums[i][j]);
      }
  }

 private:
  static void multiply(A* sums, A const* row, A const (*panel)[n_tile], index kr) {
    A local[n_tile];
    for (index j = 0; j < n_tile; ++j) local[j] = sums[j];
    for (index k = 0; k < kr; ++k) {
      A const factor = row[k];
      MTF_SIMD
      for (index j = 0; j < n_tile; ++j) local[j] += factor * panel[k][j];
    }
    for (index j = 0; j < n_tile; ++j) sums[j] = local[j];
  }
};

template <class Exec, class T>
void contract_with_loops(Exec const& exec, contraction const& what, T const* a, T const* b, T* c, bool accumulate,
                         T const* bias) {
  contract_tiles<T> const kernel{what, nest_of(what.batch), a, b, c, accumulate, bias};
  Kokkos::parallel_for("mtf::contract", range_policy<Exec>(exec, 0, kernel.tiles()), kernel);
}

}  // namespace mtf::kokkos
