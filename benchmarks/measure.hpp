#pragma once
// What the benchmarks share: times and medians.
#include <algorithm>
#include <chrono>
#include <vector>

namespace measure {

/// Seconds that f() takes.
template <class F>
double seconds(F const& f) {
  auto const start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

}  // namespace measure
