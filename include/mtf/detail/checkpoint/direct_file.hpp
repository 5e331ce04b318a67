#pragma once
// Writing what nobody reads soon: past the system's page cache. A copy there would cost the time of a core to make and
// to write back, and memory that the training or the file's later readers use better.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include <mtf/detail/checkpoint/file.hpp>

namespace mtf::detail {

/// A file that is there, to write into. Whole pages of long ranges go to the disk from a buffer of its own, where the
/// file system lets them (O_DIRECT); everything else, and all where it does not, through the page cache.
class direct_file {
 public:
  explicit direct_file(std::string const& path) : cached_(file::to_write(path)) {
    auto direct = file::to_write_direct(path);
    if (!direct) return;
    direct_ = std::move(*direct);
    buffer_.reset(static_cast<char*>(std::aligned_alloc(page_, largest)));
    past_cache_ = true;
  }

  /// Bytes of a call that the disk takes at its full speed.
  static constexpr std::size_t largest = std::size_t{1} << 22U;

  void write(std::uint64_t at, char const* from, std::size_t bytes) {
    auto const end = at + bytes, first_page = (at + page_ - 1) / page_ * page_, behind_pages = end / page_ * page_;
    if (buffer_ == nullptr || behind_pages < first_page + worth_it) return cached_.write(at, from, bytes);
    cached_.write(at, from, static_cast<std::size_t>(first_page - at));
    auto done = first_page;
    while (buffer_ != nullptr && done < behind_pages) {
      auto const some = static_cast<std::size_t>(std::min<std::uint64_t>(behind_pages - done, largest));
      std::memcpy(buffer_.get(), from + (done - at), some);
      // What a call leaves, for whatever reason, is tried again through the page cache, which names the reason.
      if (auto const put = direct_.write_some(done, buffer_.get(), some); put == some)
        done += some;
      else
        buffer_.reset();
    }
    cached_.write(done, from + (done - at), static_cast<std::size_t>(end - done));
  }
  /// The disk begins with what was written so far, beside what is done next.
  void begin_to_sync() const { cached_.begin_to_sync(); }
  /// What was written is on the disk when this returns.
  void sync() const {
    cached_.sync();
    // Small pieces in the page cache would keep a reader from having large ones around them.
    if (past_cache_) cached_.forget();
  }

 private:
  struct freed {
    void operator()(char* p) const { std::free(p); }
  };
  static constexpr std::uint64_t worth_it = 1U << 18U;  // bytes: below, a call for itself takes longer than the cache

  file cached_, direct_;
  bool past_cache_ = false;  // other ranks write so too
  std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::unique_ptr<char, freed> buffer_;  // null where nothing is written past the cache
};

}  // namespace mtf::detail
