#pragma once
// What work in the background of a training needs: memory for copies, and a slow pace.
#include <time.h>  // NOLINT(modernize-deprecated-headers): the clock of a thread is not C++'s
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

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

/// Lets a thread that works in the background of a training take a small share of a core, until somebody waits for it.
/// (A low priority is not enough: what the system does for the thread, writing pages to the disk, has none.)
class pace {
 public:
  /// To be called by the thread, now and then: sleeps if it is ahead. (Only once: sleeping and waking up also take time
  /// of a core, for which the next call sleeps. A loop until the thread is no longer ahead might never end.)
  void keep() {
    std::unique_lock lock(guard_);
    if (hurry_) return;
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);  // NOLINT(misc-include-cleaner): its name is of <time.h>
    std::chrono::duration<double> const due(
        share * (static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec)));
    auto const ahead = due - (std::chrono::steady_clock::now() - begin_);
    if (ahead < std::chrono::milliseconds(5)) return;
    hurries_.wait_for(lock, ahead, [this] { return hurry_; });
  }
  /// Somebody waits.
  void hurry() {
    {
      std::scoped_lock const lock(guard_);
      hurry_ = true;
    }
    hurries_.notify_all();
  }

 private:
  static constexpr double share = 100;  // of which it takes one part
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex guard_;
  std::condition_variable hurries_;
  bool hurry_ = false;
};

}  // namespace mtf::detail
