#pragma once
// One run writes into a directory of checkpoints at a time.
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/file.hpp>

namespace mtf::detail {

/// The file DIRECTORY/.lock, locked until this ends, or its process, however that ends: the system gives the lock back.
/// Between several computers it holds where the file system's locks do (NFS, Lustre with -o flock); where one has none,
/// there is no lock.
class directory_lock {
 public:
  /// A directory that another run holds is a user_error that says which.
  explicit directory_lock(std::string const& directory) : path_(directory + "/.lock") {
    do {
      // To read, so that a disk can be made read-only meanwhile; NFS locks only what is open to be written.
      if (!take(O_RDONLY) && errno == EBADF) static_cast<void>(take(O_RDWR));
      if (errno == EWOULDBLOCK) throw user_error(in_use(directory));
    } while (!is_the_file());
    std::array<char, 100> host{"a host"};
    ::gethostname(host.data(), host.size() - 1);
    auto const mine = "process " + std::to_string(::getpid()) + " on " + host.data();
    if (int const to = ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC); to >= 0) {
      static_cast<void>(::write(to, mine.data(), mine.size()) > 0);  // only told to others: without it is a lock too
      ::close(to);
    }
  }
  directory_lock(directory_lock const&) = delete;
  directory_lock& operator=(directory_lock const&) = delete;
  ~directory_lock() {
    ::unlink(path_.c_str());
    ::close(descriptor_);
  }

 private:
  bool take(int mode) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::open(path_.c_str(), mode | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) cannot(path_, "written");
    errno = 0;
    return ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  // Who held the lock may have removed the file before this had it.
  [[nodiscard]] bool is_the_file() const {
    struct stat named{}, held{};
    return ::stat(path_.c_str(), &named) == 0 && ::fstat(descriptor_, &held) == 0 && named.st_ino == held.st_ino &&
           named.st_dev == held.st_dev;
  }
  [[nodiscard]] std::string in_use(std::string const& directory) const {
    std::array<char, 200> holder{};
    auto const got = ::pread(descriptor_, holder.data(), holder.size() - 1, 0);
    ::close(descriptor_);
    return directory + " is in use by another run" +
           (got > 0 ? " (" + std::string(holder.data(), static_cast<std::size_t>(got)) + ")" : "") +
           ": two would damage each other's checkpoints; wait for it, end it, or give another directory";
  }

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace mtf::detail
