#pragma once
// Where threads wait for each other. They sleep while they wait: there may be many more threads than cores.
#include <atomic>
#include <cstdint>

namespace mtf::detail {

/// A barrier for a fixed number of threads, any of which may leave for good: who would wait for it for ever learns that.
class meeting {
 public:
  explicit meeting(int members) : members_(members) {}

  /// True when all members have come; false if that will never be.
  [[nodiscard]] bool wait() {
    auto const before = state_.load(std::memory_order_acquire);
    if ((before & left) != 0) return false;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
      arrived_.store(0, std::memory_order_relaxed);
      state_.fetch_add(round, std::memory_order_release);
      state_.notify_all();
      return true;
    }
    // A member may come and leave again before this thread wakes: what counts is that all had come.
    for (auto now = before;; now = state_.load(std::memory_order_acquire)) {
      if ((now & ~left) != before) return true;
      if ((now & left) != 0) return false;
      state_.wait(now, std::memory_order_acquire);
    }
  }
  /// A member leaves.
  void leave() {
    state_.fetch_or(left, std::memory_order_release);
    state_.notify_all();
  }

 private:
  static constexpr std::uint32_t left = 1, round = 2;
  int members_;
  std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> state_{0};  // how many times all have come, times 2; bit 0: a member has left
};

}  // namespace mtf::detail
