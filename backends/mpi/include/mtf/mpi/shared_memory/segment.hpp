#pragma once
// Memory that the processes of a group on one node share.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

#include <mtf/mpi/error.hpp>

namespace mtf::mpi {

/// Shared memory, zero at first. It never has a name (Linux' memfd), so it is gone with its last process, however that
/// ends. Unlike MPI's windows, a process can give it up alone, also when it leaves after an error. Other systems than
/// Linux have none.
class shared_memory {
 public:
  /// To be called by all processes of `comm` together; all get the memory, or none does.
  shared_memory(MPI_Comm comm, std::size_t bytes) : bytes_(bytes) {
    int rank = 0;
    mpi_check(MPI_Comm_rank(comm, &rank), {"MPI_Comm_rank"});
    owner of{};
    int file = rank == 0 ? make(of) : -1;
    mpi_check(MPI_Bcast(&of, sizeof of, MPI_BYTE, 0, comm), {"MPI_Bcast"});
    if (rank != 0) file = open_of(of);
    if (file >= 0) {
      void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (at != MAP_FAILED) data_ = static_cast<std::byte*>(at);
    }
    int all = data_ != nullptr ? 1 : 0;
    int const told = MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, comm);
    if (file >= 0) ::close(file);  // the first process' only after the others have opened it
    if (all == 0 || told != MPI_SUCCESS) release();
    mpi_check(told, {"MPI_Allreduce"});
  }
  ~shared_memory() { release(); }
  shared_memory(shared_memory const&) = delete;
  shared_memory& operator=(shared_memory const&) = delete;

  /// Null if the processes cannot share memory.
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  /// Where the others find the first process' memory, and how they check that it is that: in another container the same
  /// number may be another process.
  struct owner {
    long process = 0;
    int file = -1;
    dev_t device = 0;
    ino_t inode = 0;
  };
  static bool know(int file, owner& of) {
    struct stat about{};
    if (::fstat(file, &about) != 0) return false;
    of.device = about.st_dev;
    of.inode = about.st_ino;
    return true;
  }
  [[nodiscard]] int make([[maybe_unused]] owner& of) const {
#if defined(__linux__)
    int const file = ::memfd_create("mtf", MFD_CLOEXEC);
    if (file < 0) return -1;
    of.process = static_cast<long>(::getpid());
    of.file = file;
    // Reserved: otherwise memory that the system lacks is a signal at first touch.
    if (::posix_fallocate(file, 0, static_cast<off_t>(bytes_)) == 0 && know(file, of)) return file;
    ::close(file);
    of = {};
#endif
    return -1;
  }
  static int open_of(owner const& of) {
    if (of.file < 0) return -1;
    char path[64]{};
    std::snprintf(path, sizeof path, "/proc/%ld/fd/%d", of.process, of.file);
    int const file = ::open(path, O_RDWR | O_CLOEXEC);
    owner found;
    if (file < 0 || (know(file, found) && found.device == of.device && found.inode == of.inode)) return file;
    ::close(file);
    return -1;
  }
  void release() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    data_ = nullptr;
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace mtf::mpi
