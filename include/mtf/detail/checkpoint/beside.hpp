#pragma once
// What work beside a training needs: memory for copies, and a slow pace.
#include <time.h>  // NOLINT(modernize-deprecated-headers): the clock of a thread is not C++'s
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

namespace mtf::detail {

/// Memory that is not initialized, and grows if it must.
class copies {
 public:
  /// At least so many bytes; what was in it may be lost.
  char* room_for(std::size_t bytes) {
    if (bytes > size_) {
      data_.reset();
      data_.reset(new char[bytes]);
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
};

/// Lets a thread that works beside a training take a small share of a core, until somebody waits for it. (A low
/// priority is not enough: what the system does for the thread, writing pages to the disk, has none.)
class pace {
 public:
  /// To be called by the thread, now and then: sleeps while it is ahead.
  void keep() {
    while (!hurry_.load(std::memory_order_relaxed)) {
      timespec used{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);  // NOLINT(misc-include-cleaner): its name is of <time.h>
      std::chrono::duration<double> const due(
          share * (static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec)));
      auto const ahead = due - (std::chrono::steady_clock::now() - begin_);
      if (ahead.count() <= 0) return;
      std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(ahead, std::chrono::milliseconds(5)));
    }
  }
  /// Somebody waits.
  void hurry() { hurry_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr double share = 100;  // of which it takes one part
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<bool> hurry_ = false;
};

}  // namespace mtf::detail
