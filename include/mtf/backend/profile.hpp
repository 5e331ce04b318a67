#pragma once
// Where the time goes, by operation: what each primitive of the backend computed and moved, and how long it took.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <mtf/backend/operation_names.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/scope.hpp>

namespace mtf {

/// A table of (operation, pass, limit), filled while it is given to a backend, `backend.profile(&table)`; whole when
/// another is, or none.
class profile_table : public operation_names {
 public:
  /// What was done in one pass of one operation, by what bounds it; in all calls together.
  struct row {
    char const* operation = "";
    pass when = pass::forward;
    limit bound = limit::memory;
    long calls = 0;
    double seconds = 0;
    double flops = 0;  // of contractions
    double bytes = 0;  // each input read once and each output written once; or sent
  };

  /// Adds one call to the row of the operation in progress, whose number is returned.
  std::size_t add(pass when, limit bound, double flops, double bytes) {
    auto at = std::find_if(rows_.begin(), rows_.end(), [&](row const& r) {
      return r.when == when && r.bound == bound && std::strcmp(r.operation, name()) == 0;
    });
    if (at == rows_.end()) at = rows_.insert(at, {name(), when, bound});
    ++at->calls;
    at->flops += flops;
    at->bytes += bytes;
    return static_cast<std::size_t>(at - rows_.begin());
  }
  /// A call of that row took so long.
  void took(std::size_t row, double seconds) { rows_[row].seconds += seconds; }

  /// In the order of their first calls.
  [[nodiscard]] std::vector<row> const& rows() const { return rows_; }

 private:
  std::vector<row> rows_;
};

/// What a machine can do at most, all threads of a rank together, measured in the same run.
struct machine_limits {
  double flops = 0;      // of matrix products, a second
  double bandwidth = 0;  // of memory, bytes a second
};

/// The table for people, the longest first: calls, milliseconds, share of the time, GFLOP/s or GB/s, and that as a
/// share of the limit. `seconds`: what the profiled steps took; what no primitive took is the library's own.
inline std::string describe(profile_table const& table, double seconds, machine_limits const& limits) {
  auto rows = table.rows();
  std::sort(rows.begin(), rows.end(), [](auto const& a, auto const& b) { return a.seconds > b.seconds; });
  std::string text;
  auto const line = [&](char const* format, auto... x) {
    std::array<char, 160> row{};
    std::snprintf(row.data(), row.size(), format, x...);
    text += row.data();
  };
  constexpr std::array<char const*, 3> kinds{"contractions", "kernels", "communication"};
  std::array<double, 3> parts{};
  line("%-18s %-9s %-13s %7s %9s %7s  %8s %9s\n", "operation", "pass", "", "calls", "ms", "share", "speed", "of limit");
  for (auto const& r : rows) {
    auto const kind = static_cast<std::size_t>(r.bound);
    parts[kind] += r.seconds;
    double const speed = (r.bound == limit::matrix ? r.flops : r.bytes) / r.seconds;
    line("%-18s %-9s %-13s %7ld %9.2f %6.1f%%  %8.2f %s", r.operation, name_of(r.when), kinds[kind], r.calls,
         1e3 * r.seconds, 100 * r.seconds / seconds, speed / 1e9, r.bound == limit::matrix ? "GFLOP/s" : "GB/s");
    // What is faster than memory does not come from there: memory is no limit of it.
    if (r.bound == limit::memory && speed > limits.bandwidth)
      text += " cached";
    else if (r.bound != limit::network)
      line(" %3.0f%%", 100 * speed / (r.bound == limit::matrix ? limits.flops : limits.bandwidth));
    text += '\n';
  }
  double rest = seconds;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    line("%-18s %42.2f %6.1f%%\n", kinds[k], 1e3 * parts[k], 100 * parts[k] / seconds);
    rest -= parts[k];
  }
  line("%-18s %42.2f %6.1f%%\n", "the library", 1e3 * rest, 100 * rest / seconds);
  line("limits: %.1f GFLOP/s of matrix products, %.1f GB/s of memory (cached: what fits into caches is faster)\n",
       limits.flops / 1e9, limits.bandwidth / 1e9);
  return text;
}

}  // namespace mtf
