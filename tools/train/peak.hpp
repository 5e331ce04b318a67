#pragma once
// The machine's limits, against which speeds are quoted.
#include <algorithm>
#include <array>
#include <chrono>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/contraction.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/random.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/ops/elementwise/functions.hpp>

namespace mtf::tools {

/// The extents of products, and the megabytes of arrays, that show what a machine can do: of a GPU larger ones.
template <class Backend>
inline constexpr mtf::backend::index telling_extent = Backend::memory_is_the_hosts ? 2048 : 8192;
template <class Backend>
inline constexpr mtf::backend::index telling_megabytes = Backend::memory_is_the_hosts ? 384 : 3072;

/// Flops a second of matrix products of n^3 of elements T through the backend's library, all ranks at once, added up:
/// the best of a few. Of random numbers: a GPU multiplies constants up to 13% faster, as fewer bits change.
template <class T = float, class Backend>
double matrix_peak(Backend& machine, mtf::backend::index n = telling_extent<Backend>) {
  mtf::backend::contraction const c{
      .batch = {}, .m = n, .n = n, .k = n, .a_m = n, .a_k = 1, .b_k = n, .b_n = 1, .c_m = n, .c_n = 1};
  std::array<mtf::backend::buffer<Backend>, 3> matrix;
  for (auto& m : matrix) {
    m = mtf::backend::make_buffer<T>(machine, n * n);
    mtf::backend::placement const flat{.local = {.ndim = 1, .extent = {n * n}, .stride = {mtf::backend::extents{1}}}};
    machine.run(mtf::primitives::random_normal<T>{flat, mtf::random_key(1).bits(), mtf::backend::data_of<T>(m), 0, 1});
  }
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    machine.fence();
    machine.ranks().barrier();
    auto const start = std::chrono::steady_clock::now();
    machine.run(mtf::primitives::contract{c, static_cast<T const*>(mtf::backend::data_of<T>(matrix[0])),
                                          static_cast<T const*>(mtf::backend::data_of<T>(matrix[1])),
                                          mtf::backend::data_of<T>(matrix[2])});
    machine.fence();
    machine.ranks().barrier();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, c.flops() / seconds * machine.ranks().mesh().size());
  }
  return best;
}

/// The same for a program that computes in T: of a type narrower than float the better of T's and float's, as its
/// products run in float where a processor multiplies that faster.
template <class T, class Backend>
double best_matrix_peak(Backend& machine, mtf::backend::index n = telling_extent<Backend>) {
  double const peak = matrix_peak<T>(machine, n);
  if constexpr (sizeof(T) < sizeof(float)) return std::max(peak, matrix_peak<float>(machine, n));
  return peak;
}

/// Bytes a second that one rank moves while all do, adding two arrays into a third (STREAM's add), `megabytes` in all:
/// the best of a few.
template <class Backend>
double memory_bandwidth(Backend& machine, mtf::backend::index megabytes = telling_megabytes<Backend>) {
  mtf::backend::index const n = megabytes * 1'000'000 / (3 * static_cast<mtf::backend::index>(sizeof(float)));
  using mtf::backend::extents;
  mtf::backend::loops<3> const flat{.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}, extents{1}}};
  std::array<mtf::backend::buffer<Backend>, 3> array;
  for (auto& a : array) {
    a = mtf::backend::make_buffer<float>(machine, n);
    machine.run(mtf::primitives::fill{mtf::backend::data_of<float>(a), n, 0.5F});
  }
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    machine.fence();
    machine.ranks().barrier();
    auto const start = std::chrono::steady_clock::now();
    machine.run(mtf::primitives::map_of(mtf::functions::add{}, flat, mtf::backend::data_of<float>(array[0]),
                                        static_cast<float const*>(mtf::backend::data_of<float>(array[1])),
                                        static_cast<float const*>(mtf::backend::data_of<float>(array[2]))));
    machine.fence();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 3.0 * static_cast<double>(n) * sizeof(float) / seconds);
  }
  return best;
}

}  // namespace mtf::tools
