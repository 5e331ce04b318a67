#pragma once
// Files by POSIX, whose failures are user_errors that name them.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): renameat2 is not C++'s
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#ifdef __linux__
#include <sys/statfs.h>
#endif
#include <unistd.h>

#include <mtf/core/error.hpp>

namespace mtf::detail {

/// "PATH cannot be read: No such file or directory"
[[noreturn]] inline void cannot(std::string const& path, char const* what) {
  throw user_error(path + " cannot be " + what + ": " + std::generic_category().message(errno));
}

/// An open file; closed at its end.
class file {
 public:
  file() = default;
  file(file&& o) noexcept : descriptor_(std::exchange(o.descriptor_, -1)), path_(std::move(o.path_)), size_(o.size_) {}
  file& operator=(file&& o) noexcept {
    std::swap(descriptor_, o.descriptor_);
    path_.swap(o.path_);
    std::swap(size_, o.size_);
    return *this;
  }
  file(file const&) = delete;
  file& operator=(file const&) = delete;
  ~file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// One that is there, to be read. (Without O_NONBLOCK a pipe would be waited for.)
  static file to_read(std::string const& path) {
    file f(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), "read");
    struct stat about{};
    if (::fstat(f.descriptor_, &about) != 0) cannot(path, "read");
    if (!S_ISREG(about.st_mode))
      throw user_error(path + " cannot be read: it is " + (S_ISDIR(about.st_mode) ? "a directory" : "no regular file"));
    f.size_ = static_cast<std::uint64_t>(about.st_size);
    return f;
  }
  /// A new one, of this size.
  static file create(std::string const& path, std::uint64_t size) {
    file f(path, ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), "written");
    if (::ftruncate(f.descriptor_, static_cast<off_t>(size)) != 0) cannot(path, "written");
    return f;
  }
  /// One that is there, to write into.
  static file to_write(std::string const& path) {
    return {path, ::open(path.c_str(), O_RDWR | O_CLOEXEC), "written"};  // mapping asks for both
  }
  /// The same, past the page cache; nothing where the system or the file system cannot.
  static std::optional<file> to_write_direct([[maybe_unused]] std::string const& path) {
#ifdef O_DIRECT
    if (int const descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_DIRECT); descriptor >= 0)
      return file(path, descriptor, "written");
#endif
    return {};
  }

  /// A new one without a name, in a directory, which is gone with its last descriptor; nothing where the system or the
  /// file system cannot. Errors call it `path`.
  static std::optional<file> unnamed([[maybe_unused]] std::string const& directory,
                                     [[maybe_unused]] std::string const& path) {
#ifdef O_TMPFILE
    if (int const descriptor = ::open(directory.c_str(), O_RDWR | O_CLOEXEC | O_TMPFILE, 0666); descriptor >= 0)
      return file(path, descriptor, "written");
#endif
    return {};
  }
  /// Gives one without a name this one, which no file has.
  [[nodiscard]] bool link_as(std::string const& name) const {
    auto const self = "/proc/self/fd/" + std::to_string(descriptor_);
    return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  [[nodiscard]] std::string const& path() const { return path_; }
  /// Bytes, when it was opened to be read.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// What tells that a file has changed.
  struct state {
    std::uint64_t device = 0, inode = 0, bytes = 0;
    std::int64_t seconds = 0, nanoseconds = 0;  // of its last change
    bool operator==(state const&) const = default;
  };
  [[nodiscard]] state now() const {
    struct stat about{};
    if (::fstat(descriptor_, &about) != 0) cannot(path_, "read");
    return {about.st_dev, about.st_ino, static_cast<std::uint64_t>(about.st_size), about.st_mtim.tv_sec,
            about.st_mtim.tv_nsec};
  }

  void read(std::uint64_t at, void* to, std::size_t bytes) const {
    auto* next = static_cast<char*>(to);
    while (bytes > 0) {
      auto const got = ::pread(descriptor_, next, bytes, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) cannot(path_, "read");
      if (got == 0) throw user_error(path_ + " ends at byte " + std::to_string(at) + ", and should be longer");
      next += got;
      at += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
  }
  /// All of it, at least one byte, as memory that is read; for munmap.
  [[nodiscard]] void* map() const {
    auto* const at = ::mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (at == MAP_FAILED) cannot(path_, "read");
    return at;
  }
  /// Some whole pages of one that is open to be written, as memory that is written; for munmap. Where the disk has no
  /// room it is SIGBUS. Null where the system cannot, and where the file may be written from other computers, each with
  /// a copy of its own: of a page it writes back whole.
  // (fallocate would give the room, and make the pages cheaper. But ext4 has warnings in the system's log when it comes
  // beside writes past the cache: Linux 6.18, ext4_convert_unwritten_extents_endio.)
  [[nodiscard]] void* map_to_write([[maybe_unused]] std::uint64_t at, [[maybe_unused]] std::size_t bytes) const {
#ifdef __linux__
    struct statfs about{};
    if (::fstatfs(descriptor_, &about) != 0) return nullptr;
    auto const kind = static_cast<std::uint32_t>(about.f_type);
    constexpr std::uint32_t ext4 = 0xef53, xfs = 0x58465342, tmpfs = 0x01021994;
    if (kind != ext4 && kind != xfs && kind != tmpfs) return nullptr;
    auto* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(at));
    if (memory != MAP_FAILED) return memory;
#endif
    return nullptr;
  }
  void write(std::uint64_t at, void const* from, std::size_t bytes) const {
    auto const* next = static_cast<char const*>(from);
    while (bytes > 0) {
      auto const put = ::pwrite(descriptor_, next, bytes, static_cast<off_t>(at));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) cannot(path_, "written");
      next += put;
      at += static_cast<std::uint64_t>(put);
      bytes -= static_cast<std::size_t>(put);
    }
  }
  /// Writes in one call; the bytes that it took, which may be none.
  [[nodiscard]] std::size_t write_some(std::uint64_t at, void const* from, std::size_t bytes) const {
    auto const put = ::pwrite(descriptor_, from, bytes, static_cast<off_t>(at));
    return put < 0 ? 0 : static_cast<std::size_t>(put);
  }
  /// The disk begins with what was written so far, beside what is done next.
  void begin_to_sync() const {
#ifdef SYNC_FILE_RANGE_WRITE
    ::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
  }
  /// What was written is on the disk when this returns.
  void sync() const {
    if (::fsync(descriptor_) != 0) cannot(path_, "written");
  }
  /// The page cache may drop what the disk has.
  void forget() const {
#ifdef POSIX_FADV_DONTNEED
    ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
#endif
  }

 private:
  file(std::string path, int descriptor, char const* what) : descriptor_(descriptor), path_(std::move(path)) {
    if (descriptor_ < 0) cannot(path_, what);
  }

  int descriptor_ = -1;
  std::string path_;
  std::uint64_t size_ = 0;
};

/// The names in a directory are on the disk when this returns.
inline void sync_directory(std::string const& path) {
  int const descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) cannot(path, "written");
  bool const failed = ::fsync(descriptor) != 0 && errno != EINVAL;  // not every file system does
  ::close(descriptor);
  if (failed) cannot(path, "written");
}

/// A file that is written and gets its name when it is whole, in the place of what had it. Until then it has none, so
/// that nothing is left of it, whatever ends the process; or, where the system cannot, a name of the process' own.
class file_to_be {
 public:
  explicit file_to_be(std::string path) : path_(std::move(path)), fresh_(path_ + ".new-" + std::to_string(::getpid())) {
    auto const slash = path_.rfind('/');
    if (auto unnamed = file::unnamed(slash == std::string::npos ? "." : path_.substr(0, slash + 1), path_))
      file_ = std::move(*unnamed);
    else
      file_ = file::create(fresh_, 0), named_ = true;
  }
  file_to_be(file_to_be const&) = delete;
  file_to_be& operator=(file_to_be const&) = delete;
  ~file_to_be() {
    if (named_) ::unlink(fresh_.c_str());
  }

  [[nodiscard]] std::string const& path() const { return path_; }
  void write(std::uint64_t at, void const* from, std::size_t bytes) const { file_.write(at, from, bytes); }
  /// Puts it on the disk, and gives it its name.
  void finish() {
    file_.sync();
    if (!named_) {
      ::unlink(fresh_.c_str());  // of an earlier process of this number
      if (!file_.link_as(fresh_)) cannot(path_, "written");
      named_ = true;
    }
    if (::rename(fresh_.c_str(), path_.c_str()) != 0) cannot(path_, "written");
    named_ = false;
  }

 private:
  std::string path_, fresh_;
  file file_;
  bool named_ = false;  // as fresh_
};
/// Replaces a file by one with this text: at no time is it half written.
inline void replace_by(std::string const& path, std::string const& text) {
  file_to_be f(path);
  f.write(0, text.data(), text.size());
  f.finish();
}

/// Exchanges two names in one step; false where the system or the file system cannot.
inline bool exchange_names([[maybe_unused]] std::string const& a, [[maybe_unused]] std::string const& b) {
#ifdef RENAME_EXCHANGE
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
#else
  return false;
#endif
}

}  // namespace mtf::detail
