#pragma once
// How far a long work is, on a terminal.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace prepare {

/// A bar with speed and time left, on one line of standard error. Not for several threads at a time.
class progress {
 public:
  progress(std::uint64_t bytes, bool shown) : all_(bytes), shown_(shown) {}
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;
  ~progress() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  void add(std::uint64_t bytes) {
    done_ += bytes;
    auto const now = clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    double const seconds = std::chrono::duration<double>(now - begin_).count();
    double const share =
        std::min(1.0, static_cast<double>(done_) / static_cast<double>(std::max<std::uint64_t>(1, all_)));
    auto const full = static_cast<std::size_t>(share * 30);
    std::fprintf(stderr, "\r\033[K[%s%s] %3.0f %%  %.1f MB/s  %.0f s left", std::string(full, '#').c_str(),
                 std::string(30 - full, '.').c_str(), share * 100, static_cast<double>(done_) / seconds / 1e6,
                 seconds / std::max(share, 1e-9) * (1 - share));
    std::fflush(stderr);
    drawn_ = true;
  }

 private:
  using clock = std::chrono::steady_clock;
  std::uint64_t all_, done_ = 0;
  bool shown_, drawn_ = false;
  clock::time_point begin_ = clock::now(), last_ = begin_;
};

}  // namespace prepare
