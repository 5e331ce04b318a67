#pragma once
// A file as memory.
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/file.hpp>

namespace mtf::detail {

/// All bytes of a file, which the system reads when they are looked at. (A file that is truncated meanwhile ends the
/// process with SIGBUS, as with every mapping.)
class mapped_file {
 public:
  mapped_file() = default;
  /// What cannot be read, or is no regular file, is a user_error.
  explicit mapped_file(std::string path) : path_(std::move(path)) {
    // Without O_NONBLOCK a pipe would be waited for.
    int const descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about{};
    if (descriptor < 0 || ::fstat(descriptor, &about) != 0) cannot(path_, "read");
    if (!S_ISREG(about.st_mode)) {
      ::close(descriptor);
      throw user_error(path_ + " cannot be read: it is " +
                       (S_ISDIR(about.st_mode) ? "a directory" : "no regular file"));
    }
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ > 0) at_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    bool const failed = at_ == MAP_FAILED;
    if (failed) at_ = nullptr;
    ::close(descriptor);
    if (failed) throw user_error(path_ + " cannot be mapped into memory");
  }
  mapped_file(mapped_file&& o) noexcept
      : path_(std::move(o.path_)), at_(std::exchange(o.at_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  mapped_file& operator=(mapped_file&& o) noexcept {
    path_.swap(o.path_);
    std::swap(at_, o.at_);
    std::swap(size_, o.size_);
    return *this;
  }
  mapped_file(mapped_file const&) = delete;
  mapped_file& operator=(mapped_file const&) = delete;
  ~mapped_file() {
    if (at_ != nullptr) ::munmap(at_, size_);
  }

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::span<std::byte const> bytes() const { return {static_cast<std::byte const*>(at_), size_}; }

 private:
  std::string path_;
  void* at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace mtf::detail
