#pragma once
// A process that reads a mapped file where the file no longer is ends by SIGBUS. Here it is told instead.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <signal.h>  // NOLINT: <csignal> has no sigaction
#include <sys/mman.h>
#include <unistd.h>

namespace mtf::detail {

/// What a thread reads or writes of a mapped file.
struct mapped_range {
  char const* begin;
  std::size_t bytes;
  int protection;     // as for mmap
  bool lost = false;  // some of it is not in the file any more
};

/// While there is one, the signal SIGBUS ends no process whose thread reads or writes a mapped file that has
/// become shorter, or that the disk does not give: a page of zeros stands there instead, and who uses it is told.
class lost_pages_are_told {
 public:
  lost_pages_are_told() {
    std::scoped_lock const lock(guard());
    if (users()++ > 0) return;
    struct sigaction ours{};
    ours.sa_sigaction = &told;
    ours.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &ours, &before());
  }
  lost_pages_are_told(lost_pages_are_told const&) = delete;
  lost_pages_are_told& operator=(lost_pages_are_told const&) = delete;
  ~lost_pages_are_told() {
    std::scoped_lock const lock(guard());
    if (--users() == 0) ::sigaction(SIGBUS, &before(), nullptr);
  }
  /// What this thread reads or writes now; null: nothing.
  static mapped_range*& now() {
    static thread_local mapped_range* range = nullptr;
    return range;
  }

 private:
  static std::mutex& guard() {
    static std::mutex m;
    return m;
  }
  static int& users() {
    static int n = 0;
    return n;
  }
  static struct sigaction& before() {
    static struct sigaction action{};
    return action;
  }
  static void told(int, siginfo_t* about, void*) {  // NOLINT(misc-include-cleaner): of <signal.h>
    auto* const range = now();
    auto const at = reinterpret_cast<std::uintptr_t>(about->si_addr);  // NOLINT(misc-include-cleaner)
    auto const begin = range == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(range->begin);
    if (range != nullptr && at >= begin && at - begin < range->bytes) {
      auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
      int const error = errno;
      auto* const zeros = ::mmap(static_cast<char*>(about->si_addr) - at % page, page, range->protection,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      errno = error;
      range->lost = true;
      if (zeros != MAP_FAILED) return;
    }
    ::sigaction(SIGBUS, &before(), nullptr);  // not ours: it comes again when this returns
  }
};

/// This thread reads or writes the range until its end.
class range_in_use {
 public:
  explicit range_in_use(mapped_range& r) {
    lost_pages_are_told::now() = &r;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  range_in_use(range_in_use const&) = delete;
  range_in_use& operator=(range_in_use const&) = delete;
  ~range_in_use() {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // what the signal says is read behind it
    lost_pages_are_told::now() = nullptr;
  }
};

}  // namespace mtf::detail
