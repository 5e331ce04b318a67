#pragma once
// When MPI is initialized and finalized, and how ranks end together after an error.
#include <optional>
#include <string>

#include <mtf/mpi/compiled.hpp>
#include <mtf/mpi/error.hpp>
#include <mtf/mpi/rank_states.hpp>

namespace mtf::mpi {

/// Initializes MPI and finalizes it at the end of its life, unless the program had initialized MPI before.
class mpi_environment {
 public:
  static constexpr int user_exit = 2;
  static constexpr int other_exit = 1;

  MTF_MPI_CODE mpi_environment(int& argc, char**& argv);
  MTF_MPI_CODE ~mpi_environment();
  mpi_environment(mpi_environment const&) = delete;
  mpi_environment& operator=(mpi_environment const&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Runs `body`, waits until it has ended on all ranks and gives its exit code, or 2 if a rank threw a user_error.
  /// Every other exception ends all ranks here, and so does a user_error while others still run, before the stack
  /// unwinds further: destructors could wait for ranks that wait elsewhere. Guards may enclose each other.
  template <class Body>
  int guard(Body const& body) {
    try {
      return leave(body());
    } catch (...) {
      return leave_by_exception();
    }
  }
  /// Rank 0 prints an error that all ranks have; gives its exit code.
  [[nodiscard]] MTF_MPI_CODE int report(std::string const& text) const;

 private:
  // Of nested guards only the innermost one that was reached asks the other ranks.
  [[nodiscard]] MTF_MPI_CODE int leave(int code);
  // To be called where the exception is caught.
  [[nodiscard]] MTF_MPI_CODE int leave_by_exception();
  struct ending {
    int first_failed;  // size_ if no rank failed
    bool all_failed;
  };
  // How all ranks end; each calls this once. Empty if this rank failed and not all others have ended in time. Where it
  // has not, others may take their time, but not wait for it: that ends all.
  [[nodiscard]] MTF_MPI_CODE std::optional<ending> agree(bool failed);
  // Returns when the others have ended too.
  MTF_MPI_CODE void wait_for_others(MPI_Request& arrived) const;
  [[nodiscard]] MTF_MPI_CODE std::string named(std::string const& text) const;
  [[noreturn]] MTF_MPI_CODE void end_all(std::string const& text, int code) const;
  MTF_MPI_CODE static void print(std::string const& line);

  static inline int runs_ = 0;  // that are under way
  bool owner_ = false;
  int rank_ = 0;
  int size_ = 1;
  bool left_ = false;
  MPI_Comm leaving_ = MPI_COMM_NULL;
  std::optional<rank_states> states_;
};

}  // namespace mtf::mpi

#if !defined(MTF_MPI_COMPILED)
#include <mtf/mpi/code/environment.hpp>
#endif
