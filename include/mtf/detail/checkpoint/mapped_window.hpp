#pragma once
// Short ranges of a file, of several writers between each other: as memory.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>

#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/lost_pages.hpp>

namespace mtf::detail {

/// A part of a file as memory that is written. A range costs no system call, during which the file would be closed to
/// the other writers, and the page cache takes new pages many at once.
class mapped_window {
 public:
  /// The whole pages between two places; none where `file::map_to_write` has none.
  mapped_window(file const& of, std::uint64_t begin, std::uint64_t end) : begin_(begin) {
    if (end <= begin) return;
    auto const bytes = static_cast<std::size_t>(end - begin);
    if (auto const* const memory = static_cast<char const*>(of.map_to_write(begin, bytes)); memory != nullptr)
      range_ = {.begin = memory, .bytes = bytes, .protection = PROT_READ | PROT_WRITE};
  }
  mapped_window(mapped_window const&) = delete;
  mapped_window& operator=(mapped_window const&) = delete;
  ~mapped_window() {
    if (range_.bytes > 0) ::munmap(const_cast<char*>(range_.begin), range_.bytes);
  }

  /// Writes the range, if it is in the window and the file still has it there; else false.
  [[nodiscard]] bool write(std::uint64_t at, char const* from, std::size_t bytes) {
    if (range_.lost || at < begin_ || bytes > range_.bytes || at - begin_ > range_.bytes - bytes) return false;
    {
      range_in_use const now(range_);
      std::memcpy(const_cast<char*>(range_.begin) + (at - begin_), from, bytes);
    }
    return !range_.lost;
  }

 private:
  std::uint64_t begin_ = 0;  // its place in the file
  mapped_range range_{};
  lost_pages_are_told told_;
};

}  // namespace mtf::detail
