#pragma once
// How MPI is initialized and finalized, and how ranks end.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/core/shown_text.hpp>
#include <mtf/mpi/environment.hpp>
#include <mtf/mpi/error.hpp>
#include <mtf/mpi/request.hpp>

namespace mtf::mpi {

mpi_environment::mpi_environment(int& argc, char**& argv) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized != 0)
    throw user_error(
        "mtf::run is called a second time, and MPI starts once in a program: do all work in one run, or "
        "initialize MPI in main(), for all runs");
  if (runs_ > 0) throw user_error("mtf::run is called inside of mtf::run: use the backend that the outer one gives");
  owner_ = initialized == 0;
  int provided = 0;
  if (owner_) mpi_check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), {"MPI_Init_thread"});
  mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), {"MPI_Comm_rank"});
  mpi_check(MPI_Comm_size(MPI_COMM_WORLD, &size_), {"MPI_Comm_size"});
  mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &leaving_), {"MPI_Comm_dup"});
  mpi_check(MPI_Comm_set_errhandler(leaving_, MPI_ERRORS_RETURN), {"MPI_Comm_set_errhandler"});
  if (size_ > 1) states_.emplace(leaving_);
  ++runs_;
}
mpi_environment::~mpi_environment() {
  --runs_;
  states_.reset();
  MPI_Comm_free(&leaving_);
  if (owner_) MPI_Finalize();
}

int mpi_environment::report(std::string const& text) const {
  if (rank_ == 0) print("mtf: " + text);
  return user_exit;
}

int mpi_environment::leave(int code) {
  if (left_) return code;
  auto const ended = agree(false);
  return ended && ended->first_failed < size_ ? user_exit : code;
}
int mpi_environment::leave_by_exception() {
  try {
    throw;
  } catch (user_error const& e) {
    auto const ended = agree(true);
    if (!ended) {
      auto const seconds = std::to_string(patience.count());
      end_all(std::string(e.what()) + " (not all ranks reported an error within " + seconds + " s)", user_exit);
    }
    if (ended->all_failed) return report(e.what());
    if (ended->first_failed == rank_) print(named(e.what()));
    return user_exit;
  } catch (std::exception const& e) {
    end_all(e.what(), other_exit);
  } catch (...) {
    end_all("an exception that is not a std::exception", other_exit);
  }
}

// Ranks wait here and not in MPI_Finalize for others that may still fail: MPI_Abort then hangs at times (mpirun of Open
// MPI 4.1.4).
std::optional<mpi_environment::ending> mpi_environment::agree(bool failed) {
  left_ = true;
  std::array<int, 2> const mine{failed ? rank_ : size_, failed ? 1 : 0};
  std::array<int, 2> least{};
  MPI_Request arrived = MPI_REQUEST_NULL;
  if (MPI_Iallreduce(mine.data(), least.data(), 2, MPI_INT, MPI_MIN, leaving_, &arrived) != MPI_SUCCESS) return {};
  if (failed && !done_in_time(arrived)) return {};
  if (!failed) wait_for_others(arrived);
  return ending{least[0], least[1] != 0};
}

void mpi_environment::wait_for_others(MPI_Request& arrived) const {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds period{250};
  struct sight {
    std::uint64_t word = 0;
    clock::time_point since = clock::now();
  };
  std::vector<sight> seen(static_cast<std::size_t>(size_));
  auto look = clock::now() + period;
  for (int done = 0;;) {
    if (MPI_Test(&arrived, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!states_ || clock::now() < look) continue;
    look = clock::now() + period;
    for (int r = 0; r < size_; ++r) {
      auto const now = states_->of(r);
      auto& before = seen[static_cast<std::size_t>(r)];
      if (!now) continue;
      if (now->word != before.word) before = {now->word, clock::now()};
      // A rank may still be leaving the last one that this took part in.
      if (now->axes() == 0 || !states_->meet(r, rank_, now->axes()) || clock::now() - before.since < patience) continue;
      end_all("the rank has ended, while rank " + std::to_string(r) + " waits for it in a collective" +
                  states_->over(now->axes()) + ": all ranks must make the same calls",
              other_exit);
    }
  }
}

std::string mpi_environment::named(std::string const& text) const {
  return "mtf: rank " + std::to_string(rank_) + ": " + text;
}
void mpi_environment::end_all(std::string const& text, int code) const {
  print(named(text));
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}
// One write: lines of several ranks do not mix.
void mpi_environment::print(std::string const& line) {
  std::fputs((shown_text(line, "\n") + "\n").c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace mtf::mpi
