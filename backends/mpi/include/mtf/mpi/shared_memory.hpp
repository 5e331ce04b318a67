#pragma once
// Memory that the processes of a group on one node share.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include <mtf/mpi/error.hpp>

namespace mtf::detail {

/// POSIX shared memory, zero at first. It has no name once it is made, so it is gone with its last process however that
/// ends; and unlike MPI's windows a process gives it up alone, also while an error makes it leave.
class shared_memory {
 public:
  /// To be called by all processes of `comm` together; all get the memory, or none does.
  shared_memory(MPI_Comm comm, std::size_t bytes) : bytes_(bytes) {
    int rank = 0;
    mpi_check(MPI_Comm_rank(comm, &rank), {"MPI_Comm_rank"});
    char name[64]{};
    int file = -1;
    if (rank == 0) {
      static int made = 0;
      std::snprintf(name, sizeof name, "/mtf-%ld-%d", static_cast<long>(::getpid()), made++);
      file = ::shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
      // Memory that the system lacks is a signal at first touch, unless it is reserved.
      if (file >= 0 && ::posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) {
        ::close(file);
        file = -1;
      }
    }
    mpi_check(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm), {"MPI_Bcast"});
    if (rank != 0) file = ::shm_open(name, O_RDWR, 0600);
    if (file >= 0) {
      void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (at != MAP_FAILED) data_ = static_cast<std::byte*>(at);
      ::close(file);
    }
    int all = data_ != nullptr ? 1 : 0;
    mpi_check(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, comm), {"MPI_Allreduce"});
    if (rank == 0) ::shm_unlink(name);
    if (all == 0) release();
  }
  ~shared_memory() { release(); }
  shared_memory(shared_memory const&) = delete;
  shared_memory& operator=(shared_memory const&) = delete;

  /// Null if the processes cannot share memory.
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  void release() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    data_ = nullptr;
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace mtf::detail
