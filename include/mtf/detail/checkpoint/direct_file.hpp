#pragma once
// Writing what nobody reads soon: past the system's page cache, where ranges are long. A copy there would cost the time
// of a core to make and to write back, and memory that the training or the file's later readers use better.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/mapped_window.hpp>

namespace mtf::detail {

/// Some bytes of a file.
struct file_part {
  std::uint64_t begin = 0, end = 0;
};

/// A file that is there, to write into. Whole pages of long ranges go to the disk from a buffer of its own, where the
/// file system lets them (O_DIRECT). Everything else, and all where it does not, goes through the page cache: as memory
/// where several writers put short ranges between each other's.
class direct_file {
 public:
  /// `mixed`: the parts of such ranges, in order. All writers give the same.
  explicit direct_file(std::string const& path, std::vector<file_part> mixed = {})
      : cached_(file::to_write(path)), mixed_(std::move(mixed)) {
    auto direct = file::to_write_direct(path);
    if (!direct) return;
    direct_ = std::move(*direct);
    buffer_.reset(static_cast<char*>(std::aligned_alloc(page_, buffer_size)));
    past_cache_ = true;
  }

  /// Bytes of a range for which a call that goes past the page cache takes less time than the cache.
  static constexpr std::uint64_t worth_it = std::uint64_t{1} << 18U;
  /// How many of `bytes` from this place on are best written next: a call that the disk takes at its full speed, and
  /// that leaves no pieces which would not be worth theirs.
  static constexpr std::uint64_t piece(std::uint64_t at, std::uint64_t bytes) {
    auto some = full_speed - at % full_speed;
    if (some < worth_it) some += full_speed;
    return bytes < some + worth_it ? bytes : some;
  }

  /// Few bytes are written by `write_later`: until then they stay where they are.
  void write(std::uint64_t at, char const* from, std::size_t bytes) {
    auto const next = mixed_part_behind(at);
    if (next != mixed_.end() && next->begin <= at) return write_mixed(*next, at, from, bytes);
    auto const end = at + bytes;
    auto first_page = (at + page_ - 1) / page_ * page_, behind_pages = end / page_ * page_;
    // The system's pages may be as large as a block. One in which somebody writes as memory does not reach to here.
    if (next != mixed_.end()) behind_pages = std::min(behind_pages, next->begin / block * block);
    if (next != mixed_.begin()) first_page = std::max(first_page, (std::prev(next)->end + block - 1) / block * block);
    if (buffer_ == nullptr || behind_pages < first_page + worth_it) return write_cached(at, from, bytes);
    write_cached(at, from, static_cast<std::size_t>(first_page - at));
    auto done = first_page;
    while (buffer_ != nullptr && done < behind_pages) {
      auto const some = static_cast<std::size_t>(std::min<std::uint64_t>(behind_pages - done, buffer_size));
      std::memcpy(buffer_.get(), from + (done - at), some);
      // What a call leaves, for whatever reason, is tried again through the page cache, which names the reason.
      if (auto const put = direct_.write_some(done, buffer_.get(), some); put == some)
        done += some;
      else
        buffer_.reset();
    }
    write_cached(done, from + (done - at), static_cast<std::size_t>(end - done));
  }
  /// The same of few bytes that do not stay.
  void write_now(std::uint64_t at, char const* from, std::size_t bytes) {
    auto const next = mixed_part_behind(at);
    if (next != mixed_.end() && next->begin <= at) return write_mixed(*next, at, from, bytes);
    cached_.write(at, from, bytes);
    begin_to_sync(bytes);
  }
  /// What was put off. If it throws, `at` is where.
  void write_later(std::uint64_t& at) {
    for (auto const& l : later_) {
      at = l.at;
      cached_.write(l.at, l.from, l.bytes);
    }
    later_.clear();
  }
  /// What was written is on the disk when this returns.
  void sync() {
    window_.reset();
    window_end_ = 0;
    cached_.sync();
    // Small pieces in the page cache would keep a reader from having large ones around them.
    if (past_cache_) cached_.forget();
  }

 private:
  struct freed {
    void operator()(char* p) const { std::free(p); }
  };
  static constexpr std::uint64_t full_speed = std::uint64_t{1} << 22U, block = std::uint64_t{1} << 21U;
  static constexpr std::size_t buffer_size = full_speed + 2 * worth_it, often = std::size_t{1} << 25U;

  [[nodiscard]] std::vector<file_part>::const_iterator mixed_part_behind(std::uint64_t at) const {
    return std::upper_bound(mixed_.begin(), mixed_.end(), at, [](auto b, auto& p) { return b < p.end; });
  }
  void write_cached(std::uint64_t at, char const* from, std::size_t bytes) {
    // Through the cache each call waits for those past it, of all writers: few bytes come later, at once.
    if (buffer_ != nullptr && bytes < worth_it) return later_.push_back({at, from, bytes});
    cached_.write(at, from, bytes);
    begin_to_sync(bytes);
  }
  void write_mixed(file_part const& part, std::uint64_t at, char const* from, std::size_t bytes) {
    if (part.end != window_end_) {
      window_.emplace(cached_, (part.begin + page_ - 1) / page_ * page_, part.end / page_ * page_);
      window_end_ = part.end;
    }
    if (!window_ || !window_->write(at, from, bytes)) cached_.write(at, from, bytes);
    begin_to_sync(bytes);
  }
  // The disk begins with what the cache has, beside what is done next.
  void begin_to_sync(std::size_t bytes) {
    if (in_cache_ += bytes; in_cache_ < often) return;
    cached_.begin_to_sync();
    in_cache_ = 0;
  }

  struct later {
    std::uint64_t at;
    char const* from;
    std::size_t bytes;
  };

  file cached_, direct_;
  std::vector<file_part> mixed_;
  std::vector<later> later_;
  bool past_cache_ = false;  // other ranks write so too
  std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::unique_ptr<char, freed> buffer_;  // null where nothing is written past the cache
  std::optional<mapped_window> window_;  // the mixed part that ends there
  std::uint64_t window_end_ = 0;
  std::size_t in_cache_ = 0;  // bytes since the disk began last
};

}  // namespace mtf::detail
