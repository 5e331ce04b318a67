#pragma once
// What the benchmarks of kernels and operations share: times beside what the memory can do.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include <mtf/kokkos.hpp>

#include "measure.hpp"

namespace measure {

/// Bytes a second of STREAM's triad, y = x + 2 z, over arrays of n floats: the best of four.
template <class Space>
double triad(float* y, float const* x, float const* z, mtf::backend::index n) {
  double best = 1e9;
  for (int i = 0; i < 4; ++i)
    best = std::min(best, seconds([&] {
                      Kokkos::parallel_for(
                          "triad", Kokkos::RangePolicy<Space>(0, n),
                          KOKKOS_LAMBDA(mtf::backend::index j) { y[j] = x[j] + 2 * z[j]; });
                      Kokkos::fence();
                    }));
  return 3.0 * sizeof(float) * static_cast<double>(n) / best;
}

/// Runs f as often as Google Benchmark likes, and once before, as pages of new memory cost more than what f does with
/// them; returns the median of the seconds.
template <class Backend, class F>
double timed(Backend& b, benchmark::State& state, F const& f) {
  f();
  std::vector<double> all;
  for ([[maybe_unused]] auto _ : state) {
    all.push_back(seconds([&] {
      f();
      b.fence();
    }));
    state.SetIterationTime(all.back());
  }
  return median(all);
}

template <class Run>
void add(std::string const& name, Run const& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.2);
}

inline void bandwidth(benchmark::State& state, double bytes, double took, double limit) {
  state.counters["MB"] = bytes / 1e6;
  state.counters["GB/s"] = bytes / took / 1e9;
  state.counters["triad"] = limit / 1e9;
  state.counters["share"] = bytes / took / limit;
}

}  // namespace measure
