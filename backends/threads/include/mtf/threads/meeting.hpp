#pragma once
// Where threads wait for each other. They sleep while they wait: there may be many more threads than cores.
#include <atomic>
#include <cstdint>

namespace mtf::threads {

/// A barrier for a fixed number of threads. Any of them may leave for good: then the others no longer wait.
class meeting {
 public:
  static constexpr int most_members = 1023;
  explicit meeting(int members) : members_(static_cast<std::uint32_t>(members)) {}

  /// True when all members have come; false if that will never be. All members get the same answer.
  [[nodiscard]] bool wait() { return wait_unless(left); }
  /// The same, if it is sure that all members come, even if one leaves afterwards.
  void wait_surely() { static_cast<void>(wait_unless(0)); }
  /// A member leaves.
  void leave() {
    state_.fetch_or(left, std::memory_order_release);
    state_.notify_all();
  }

 private:
  // One word, so that it is the same for all threads whether the last member came before another left. Bit 0: a member
  // has left; then how many have come; then how many times all had come.
  static constexpr std::uint32_t left = 1, one = 2, round = 2 * (most_members + 1), rounds = ~(round - 1);

  bool wait_unless(std::uint32_t hopeless) {
    auto now = state_.load(std::memory_order_acquire);
    for (;;) {
      if ((now & hopeless) != 0) return false;
      bool const last = (now & ~rounds) / one + 1 == members_;
      auto const next = last ? ((now & rounds) + round) | (now & left) : now + one;
      if (!state_.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      if (last) state_.notify_all();
      if (last) return true;
      break;
    }
    // A member may come and leave again before this thread wakes: what counts is that all had come.
    for (auto const before = now & rounds;;) {
      now = state_.load(std::memory_order_acquire);
      if ((now & rounds) != before) return true;
      if ((now & hopeless) != 0) return false;
      state_.wait(now, std::memory_order_acquire);
    }
  }

  std::uint32_t members_;
  std::atomic<std::uint32_t> state_{0};
};

}  // namespace mtf::threads
