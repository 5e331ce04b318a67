#pragma once
// Where the time goes, by the names of kernels and regions, through Kokkos' own tool callbacks. On the host kernels are
// synchronous, so the time between begin and end is theirs; on a device each end fences.
#include <Kokkos_Core.hpp>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace profile {

struct entry {
  double seconds = 0;
  long calls = 0;
};

class table {
 public:
  static table& instance() {
    static table t;
    return t;
  }
  void start() {
    entries_.clear();
    namespace tools = Kokkos::Tools::Experimental;
    tools::set_begin_parallel_for_callback([](char const* name, std::uint32_t, std::uint64_t*) { instance().begin(name); });
    tools::set_end_parallel_for_callback([](std::uint64_t) { instance().end(); });
    tools::set_begin_parallel_reduce_callback([](char const* name, std::uint32_t, std::uint64_t*) { instance().begin(name); });
    tools::set_end_parallel_reduce_callback([](std::uint64_t) { instance().end(); });
    tools::set_push_region_callback([](char const* name) { instance().begin(name); });
    tools::set_pop_region_callback([] { instance().end(); });
  }
  void stop() {
    namespace tools = Kokkos::Tools::Experimental;
    tools::set_begin_parallel_for_callback(nullptr);
    tools::set_end_parallel_for_callback(nullptr);
    tools::set_begin_parallel_reduce_callback(nullptr);
    tools::set_end_parallel_reduce_callback(nullptr);
    tools::set_push_region_callback(nullptr);
    tools::set_pop_region_callback(nullptr);
  }
  [[nodiscard]] std::map<std::string, entry> const& entries() const { return entries_; }

 private:
  using clock = std::chrono::steady_clock;
  struct running {
    std::string name;
    clock::time_point since;
    double inside = 0;  // seconds of what ran inside it
  };
  void begin(char const* name) { open_.push_back({name, clock::now()}); }
  // What runs inside a region counts there, not for the region.
  void end() {
    if (open_.empty()) return;
    auto const r = open_.back();
    open_.pop_back();
    double const seconds = std::chrono::duration<double>(clock::now() - r.since).count();
    if (!open_.empty()) open_.back().inside += seconds;
    auto& e = entries_[r.name];
    e.seconds += seconds - r.inside;
    ++e.calls;
  }

  std::vector<running> open_;
  std::map<std::string, entry> entries_;
};

}  // namespace profile
