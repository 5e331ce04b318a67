#pragma once
// Started operations.
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/mpi/error.hpp>
#include <mtf/mpi/rank_states.hpp>

namespace mtf::mpi {

/// How long a rank that leaves because of an error waits for the others before it ends them.
inline constexpr std::chrono::seconds patience{3};

/// Waits for a request at most so long; false if it is still open.
inline bool done_in_time(MPI_Request& request, std::chrono::seconds at_most = patience) {
  auto const begin = std::chrono::steady_clock::now();
  for (int done = 0;;) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    auto const waited = std::chrono::steady_clock::now() - begin;
    if (waited > at_most) return false;
    // Others may need the core; but most arrive soon.
    if (waited < std::chrono::milliseconds(1))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// One collective that has started: one MPI request, or several where the count exceeds an int.
class mpi_request final : public collectives::request {
 public:
  explicit mpi_request(mpi_place at) : at_(at), unwinding_(std::uncaught_exceptions()) {}
  // The buffers go away with the caller, so this waits for an operation that nobody waited for. While an exception
  // passes through, it waits for a limited time: the other ranks may never take part.
  ~mpi_request() override {
    bool const failing = std::uncaught_exceptions() > unwinding_;
    for (auto& r : open_) {
      if (failing && !done_in_time(r)) return;
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
  }
  void wait() override {
    rank_states::in_collective const here(at_.axes);
    for (auto& r : open_) mpi_check(MPI_Wait(&r, MPI_STATUS_IGNORE), at_);
    open_.clear();
  }
  MPI_Request* add() { return &open_.emplace_back(MPI_REQUEST_NULL); }

 private:
  mpi_place at_;
  int unwinding_;
  std::vector<MPI_Request> open_;
};

}  // namespace mtf::mpi
