#pragma once
// The time that work takes, for a profile.
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/profile.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/kokkos/runtime/stream_events.hpp>

namespace mtf::kokkos {

/// What a profile is taken with: where it goes, and, of a device, events that are in its stream and whose times are not
/// known yet.
template <class Exec>
class profiling {
 public:
  /// From now on times go there; null: nowhere. Those that are still out are waited for.
  void into(profile_table* to, Exec const& exec) {
    if constexpr (has_events<Exec>) {
      if (!events_.empty()) exec.fence("mtf::profile");
      for (auto& [row, begin, end] : events_) table_->took(row, begin.seconds_until(end));
      events_.clear();
    }
    table_ = to;
  }
  [[nodiscard]] profile_table* table() const { return table_; }

  /// The work of its life is one call of the table's operation in progress. On a device events are put before and
  /// behind it, and nothing waits; on the host the work before is waited for, and its own.
  class call {
   public:
    call(profiling* of, Exec const& exec, pass when, limit bound, double flops, double bytes)
        : of_(of->table_ == nullptr ? nullptr : of), exec_(&exec) {
      if (of_ == nullptr) return;
      row_ = of_->table_->add(when, bound, flops, bytes);
      if constexpr (has_events<Exec>) {
        begin_ = stream_event<Exec>(exec);
      } else {
        exec_->fence("mtf::profile");
        start_ = clock::now();
      }
    }
    ~call() {
      if (of_ == nullptr) return;
      if constexpr (has_events<Exec>) {
        try {
          of_->events_.push_back({row_, std::move(begin_), stream_event<Exec>(*exec_)});
        } catch (std::exception const&) {
          return;  // the device has failed: what follows says so
        }
      } else {
        exec_->fence("mtf::profile");
        of_->table_->took(row_, std::chrono::duration<double>(clock::now() - start_).count());
      }
    }
    call(call const&) = delete;
    call& operator=(call const&) = delete;

   private:
    using clock = std::chrono::steady_clock;
    profiling* of_;
    Exec const* exec_;
    std::size_t row_ = 0;
    clock::time_point start_;
    stream_event<Exec> begin_;
  };

 private:
  struct measured {
    std::size_t row;
    stream_event<Exec> begin, end;
  };
  profile_table* table_ = nullptr;
  std::vector<measured> events_;
};

}  // namespace mtf::kokkos
