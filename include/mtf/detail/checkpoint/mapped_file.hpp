#pragma once
// A file's bytes as memory: ranges of a few hundred bytes, of which a shard may be, cost no system call each.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/lost_pages.hpp>

namespace mtf::detail {

/// What a reader of a mapped file throws where it has become shorter, or the disk fails.
struct lost_pages {};

/// A file that is read as memory, whole.
class mapped_file {
 public:
  explicit mapped_file(file const& of) : path_(of.path()), bytes_(static_cast<std::size_t>(of.size())) {
    if (bytes_ > 0) data_ = static_cast<char const*>(of.map());
  }
  mapped_file(mapped_file&& o) noexcept
      : path_(std::move(o.path_)), bytes_(std::exchange(o.bytes_, 0)), data_(std::exchange(o.data_, nullptr)) {}
  mapped_file& operator=(mapped_file&& o) noexcept {
    path_.swap(o.path_);
    std::swap(bytes_, o.bytes_);
    std::swap(data_, o.data_);
    return *this;
  }
  mapped_file(mapped_file const&) = delete;
  mapped_file& operator=(mapped_file const&) = delete;
  ~mapped_file() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), bytes_);
  }

  [[nodiscard]] std::string const& path() const { return path_; }
  /// All of it. Outside of `read` a file that has become shorter ends the process that looks at it, by SIGBUS.
  [[nodiscard]] std::span<std::byte const> bytes() const { return {reinterpret_cast<std::byte const*>(data_), bytes_}; }
  /// Long ranges of it are read soon: the system may fetch it in large pages, which take less time to map and let the
  /// disk reach its full speed.
  void expect_long_reads() const {
#ifdef MADV_HUGEPAGE
    ::madvise(const_cast<char*>(data_), bytes_, MADV_HUGEPAGE);  // systems without refuse, which is no harm
#endif
  }
  /// Calls f(data): the file's bytes, of which it reads what it wants. Throws `lost_pages` if some are gone.
  template <class F>
  void read(F const& f) const {
    mapped_range range{.begin = data_, .bytes = bytes_, .protection = PROT_READ};
    {
      lost_pages_are_told const told;
      range_in_use const now(range);
      f(data_);
    }
    if (range.lost) throw lost_pages{};
  }

 private:
  std::string path_;
  std::size_t bytes_;
  char const* data_ = nullptr;
};

/// Gives memory that will be written soon all of its pages at once, which takes half of the time of one after the
/// other. (Large pages take less, or far more where the system has to make room for them.)
inline void expect_writes([[maybe_unused]] char* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto const before = reinterpret_cast<std::uintptr_t>(memory) % page;  // bytes of its first page
  ::madvise(memory - before, (before + bytes + page - 1) / page * page,
            MADV_POPULATE_WRITE);  // older systems refuse, and go without
#endif
}

}  // namespace mtf::detail
