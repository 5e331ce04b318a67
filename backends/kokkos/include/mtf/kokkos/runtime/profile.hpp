#pragma once
// Where the time goes, by operation: what each primitive of the backend computed and moved, and how long it took.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <mtf/backend/work.hpp>
#include <mtf/backend/scope.hpp>

namespace mtf {

/// What bounds the speed of a primitive: the matrix units, memory, or what lies between ranks.
enum class limit : std::uint8_t { matrix, memory, network };

/// The names of the operations in progress, as a backend is told them.
class operation_names {
 public:
  void enter(char const* operation) {
    inside_.push_back(operation != nullptr || inside_.empty() ? operation : inside_.back());
  }
  void leave() {
    if (!inside_.empty()) inside_.pop_back();
  }

 protected:
  /// The innermost one's.
  [[nodiscard]] char const* name() const {
    return inside_.empty() || inside_.back() == nullptr ? "other" : inside_.back();
  }

 private:
  std::vector<char const*> inside_;
};

/// A table of (operation, pass, limit), filled while it is given to a backend: `backend.profile(&table)`.
class profile_table : public operation_names {
 public:
  struct row {
    char const* operation = "";
    pass when = pass::forward;
    limit bound = limit::memory;
    long calls = 0;
    double seconds = 0;
    double flops = 0;  // of contractions
    double bytes = 0;  // each input read once and each output written once; or sent
  };

  void add(pass when, limit bound, double seconds, double flops, double bytes) {
    auto at = std::find_if(rows_.begin(), rows_.end(), [&](row const& r) {
      return r.when == when && r.bound == bound && std::strcmp(r.operation, name()) == 0;
    });
    if (at == rows_.end()) at = rows_.insert(at, {name(), when, bound});
    ++at->calls;
    at->seconds += seconds;
    at->flops += flops;
    at->bytes += bytes;
  }

  /// In the order of their first calls.
  [[nodiscard]] std::vector<row> const& rows() const { return rows_; }

 private:
  std::vector<row> rows_;
};

namespace kokkos {

using namespace backend;  // NOLINT: the words of the contract

/// Adds the time of its life to a table, if there is one; work on `exec` is waited for, so that it counts where it belongs.
template <class Exec>
class timed {
 public:
  timed(profile_table* table, Exec const& exec, pass when, limit bound, double flops, double bytes)
      : table_(table), exec_(&exec), when_(when), bound_(bound), flops_(flops), bytes_(bytes) {
    if (table_ == nullptr) return;
    exec_->fence("mtf::profile");
    start_ = clock::now();
  }
  ~timed() {
    if (table_ == nullptr) return;
    exec_->fence("mtf::profile");
    table_->add(when_, bound_, std::chrono::duration<double>(clock::now() - start_).count(), flops_, bytes_);
  }
  timed(timed const&) = delete;
  timed& operator=(timed const&) = delete;

 private:
  using clock = std::chrono::steady_clock;
  profile_table* table_;
  Exec const* exec_;
  pass when_;
  limit bound_;
  double flops_, bytes_;
  clock::time_point start_;
};

/// The elements that an operand of a loop nest has: it stays in place along the others.
template <int Operands>
double distinct(loops<Operands> const& l, std::size_t operand) {
  double n = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(l.rank); ++d)
    if (l.stride[operand][d] != 0) n *= static_cast<double>(l.extent[d]);
  return n;
}

/// The bytes of an operand's elements.
template <class T>
double bytes(index n) {
  return static_cast<double>(n) * sizeof(T);
}
template <class T>
double bytes(rows const& r) {
  return bytes<T>(r.count() * r.n);
}
template <class T, int Operands>
double bytes(loops<Operands> const& l, std::size_t operand = 0) {
  return distinct(l, operand) * sizeof(T);
}
template <class... T, std::size_t... I, int Operands>
double operand_bytes(loops<Operands> const& l, std::index_sequence<I...>) {
  return (bytes<T>(l, I) + ...);
}
// Results have the strides of operand 0, or are a row.
template <class... T, std::size_t... I, int Operands>
double vjp_bytes(loops<Operands> const& l, std::array<map_gradient, sizeof...(T)> const& dx, std::index_sequence<I...>) {
  return ((bytes<T>(l, I + 1) + (dx[I].at != nullptr ? bytes<T>(l, dx[I].row ? I + 1 : 0) : 0)) + ...);
}

}  // namespace kokkos

/// What a machine can do at most, all threads of a rank together, measured in the same run.
struct machine_limits {
  double flops = 0;      // of matrix products, a second
  double bandwidth = 0;  // of memory, bytes a second
};

/// The table for people, the longest first: calls, milliseconds, share of the time, GFLOP/s or GB/s, and that as a share of
/// the limit. `seconds`: what the profiled steps took; what no primitive took is the library's own.
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
    line("%-18s %-9s %-13s %7ld %9.2f %6.1f%%  %8.2f %s", r.operation, name_of(r.when), kinds[kind],
         r.calls, 1e3 * r.seconds, 100 * r.seconds / seconds, speed / 1e9, r.bound == limit::matrix ? "GFLOP/s" : "GB/s");
    if (r.bound != limit::network)
      line(" %3.0f%%", 100 * speed / (r.bound == limit::matrix ? limits.flops : limits.bandwidth));
    text += '\n';
  }
  double rest = seconds;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    line("%-18s %42.2f %6.1f%%\n", kinds[k], 1e3 * parts[k], 100 * parts[k] / seconds);
    rest -= parts[k];
  }
  line("%-18s %42.2f %6.1f%%\n", "the library", 1e3 * rest, 100 * rest / seconds);
  line("limits: %.1f GFLOP/s of matrix products, %.1f GB/s of memory\n", limits.flops / 1e9, limits.bandwidth / 1e9);
  return text;
}

}  // namespace mtf
