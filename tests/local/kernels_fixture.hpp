#pragma once
// What the kernel tests share: a backend of one rank, arrays in its memory, and comparison with plain loops in double.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>

namespace primitives = mtf::primitives;

namespace kernels {

using mtf::bfloat16;
using mtf::combine;
using mtf::compute_t;
using mtf::backend::index;
using mtf::backend::loops;
using mtf::backend::rows;
using mtf::kokkos::convert;

using backend = mtf::kokkos_backend<>;

inline backend& device() {
  static mtf::single_rank ranks;
  static backend* const made = new backend(ranks);  // outlived by Kokkos::finalize's hook
  [[maybe_unused]] static bool const hooked = [] {
    Kokkos::push_finalize_hook([] { delete made; });
    return true;
  }();
  return *made;
}

/// An array in the backend's memory.
template <class T>
class array {
 public:
  explicit array(std::size_t n) : n_(n), data_(static_cast<T*>(device().allocate(n * sizeof(T)))) {}
  explicit array(index n) : array(static_cast<std::size_t>(n)) {}
  array(std::vector<double> const& from) : array(from.size()) {
    std::vector<char> bytes(n_ * sizeof(T));
    for (std::size_t i = 0; i < n_; ++i) {
      T const x = convert<T>(from[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &x, sizeof(T));
    }
    device().from_host(data_, bytes.data(), bytes.size());
  }
  array(array const&) = delete;
  array& operator=(array const&) = delete;
  ~array() { device().release(data_, n_ * sizeof(T)); }

  [[nodiscard]] T* get() const { return data_; }
  [[nodiscard]] std::vector<T> raw() const {
    std::vector<char> bytes(n_ * sizeof(T));
    device().to_host(bytes.data(), data_, bytes.size());
    std::vector<T> out(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      T x;
      std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
      out[i] = x;
    }
    return out;
  }
  [[nodiscard]] std::vector<double> host() const {
    std::vector<double> out;
    for (T x : raw()) out.push_back(convert<double>(x));
    return out;
  }

 private:
  std::size_t n_;
  T* data_;
};

inline std::size_t size(index n) { return static_cast<std::size_t>(n); }

/// Numbers in [-2, 2) that all element types hold exactly.
inline std::vector<double> numbers(index n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<double> out(static_cast<std::size_t>(n));
  for (double& x : out) x = static_cast<double>(static_cast<int>(engine() % 256) - 128) / 64.0;
  return out;
}

/// What type T can be off by, for results of size about 1.
template <class T>
inline constexpr double tolerance = std::is_same_v<T, double>  ? 1e-12
                                    : std::is_same_v<T, float> ? 1e-5
                                                               : 2e-2;

inline void check_close(std::vector<double> const& got, std::vector<double> const& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double const off = std::abs(got[i] - expected[i]) / (1 + std::abs(expected[i]));
    if (!(off <= worst)) {
      worst = off;
      at = i;
    }
  }
  INFO("element ", at, " of ", got.size(), ": ", got.empty() ? 0.0 : got[at], " expected ",
       expected.empty() ? 0.0 : expected[at]);
  CHECK(worst <= tolerance);
}

/// Calls f(offsets, linear index) for all iterations of a loop nest.
template <int Operands, class F>
void for_all(loops<Operands> const& l, F const& f) {
  std::array<index, mtf::max_dims> at{};
  for (index i = 0; i < l.size(); ++i) {
    index rest = i;
    for (int d = l.ndim - 1; d >= 0; --d) {
      at[static_cast<std::size_t>(d)] = rest % l.extent[static_cast<std::size_t>(d)];
      rest /= l.extent[static_cast<std::size_t>(d)];
    }
    std::array<std::size_t, Operands> offset{};
    for (std::size_t o = 0; o < Operands; ++o)
      for (std::size_t d = 0; d < static_cast<std::size_t>(l.ndim); ++d)
        offset[o] += static_cast<std::size_t>(at[d] * l.stride[o][d]);
    f(offset, static_cast<std::size_t>(i));
  }
}

/// Calls f(row, position of element 0, distance of elements) for all rows.
template <class F>
void each_row(rows const& r, F const& f) {
  for (index o = 0; o < r.outer; ++o)
    for (index i = 0; i < r.inner; ++i)
      f(static_cast<std::size_t>(o * r.inner + i), static_cast<std::size_t>(o * r.n * r.inner + i),
        static_cast<std::size_t>(r.inner));
}

/// The product of a, m x k, and b, k x n; each may be stored transposed, in rows `a_row` and `b_row` elements apart.
inline mtf::backend::contraction product_of(index m, index n, index k, bool ta, bool tb, index a_row, index b_row) {
  return {.batch = {},
          .m = m,
          .n = n,
          .k = k,
          .a_m = ta ? 1 : a_row,
          .a_k = ta ? a_row : 1,
          .b_k = tb ? 1 : b_row,
          .b_n = tb ? b_row : 1,
          .c_m = n,
          .c_n = 1};
}

inline rows const row_shapes[] = {{3, 1, 1}, {5, 7, 1}, {4, 64, 1}, {3, 1000, 1}, {2, 7, 3}, {3, 64, 10}, {1, 70, 40}};

}  // namespace kernels
