#pragma once
// Which ranks wait in a collective, for one that has ended: it takes part in none any more.
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <mpi.h>

#include <mtf/backend/between_ranks.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf::mpi {

/// A word of each rank in memory that the others read, whatever it does. It changes when the rank enters a collective,
/// and when it leaves it. One for each process, or none.
class rank_states {
 public:
  explicit rank_states(MPI_Comm ranks) {
    // Each rank's word on a page of its own: of words on one page MPICH 4.0.2 reads another rank's.
    constexpr MPI_Aint page = 4096;
    void* memory = nullptr;
    if (MPI_Win_allocate(page, sizeof(std::uint64_t), MPI_INFO_NULL, ranks, static_cast<void*>(&memory), &window_) !=
        MPI_SUCCESS)
      return;
    mine_ = static_cast<std::uint64_t*>(memory);
    *mine_ = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    of_process() = this;
  }
  rank_states(rank_states const&) = delete;
  rank_states& operator=(rank_states const&) = delete;
  /// All ranks.
  ~rank_states() {
    if (mine_ == nullptr) return;
    of_process() = nullptr;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  /// What a rank's word says: the axes over which it is in a collective (0: in none), and which of its collectives.
  struct state {
    std::uint64_t word = 0;
    [[nodiscard]] axis_mask axes() const { return static_cast<axis_mask>(word & all_axes); }
  };
  /// Empty: it cannot be read.
  [[nodiscard]] std::optional<state> of(int rank) const {
    state s;
    if (mine_ == nullptr || MPI_Get(&s.word, 1, MPI_UINT64_T, rank, 0, 1, MPI_UINT64_T, window_) != MPI_SUCCESS ||
        MPI_Win_flush(rank, window_) != MPI_SUCCESS)
      return {};
    return s;
  }

  /// The mesh of the ranks, and its name, as collectives tell them.
  static void are_of(mesh_shape const& mesh, std::string const& text) {
    if (auto* const all = of_process(); all != nullptr) all->mesh_ = mesh, all->text_ = text;
  }
  /// Whether two ranks are of one group along these axes.
  [[nodiscard]] bool meet(int a, int b, axis_mask axes) const {
    return a != b && mesh_.group_of(a, axes) == mesh_.group_of(b, axes);
  }
  /// " over rows:2 of mesh rows:2 cols:4"
  [[nodiscard]] std::string over(axis_mask axes) const { return backend::place_text("", axes, text_); }

  /// This rank is in a collective over these axes as long as this lives. (Of those inside of another the first counts.)
  class in_collective {
   public:
    explicit in_collective(axis_mask axes) : of_(of_process()) {
      if (of_ == nullptr || (of_->now_ & all_axes) != 0)
        of_ = nullptr;
      else
        of_->says((of_->now_ & ~all_axes) + (all_axes + 1) + axes);
    }
    ~in_collective() {
      if (of_ != nullptr) of_->says(of_->now_ & ~all_axes);
    }
    in_collective(in_collective const&) = delete;
    in_collective& operator=(in_collective const&) = delete;

   private:
    rank_states* of_;
  };

 private:
  static constexpr std::uint64_t all_axes = (1U << 8U) - 1;
  static rank_states*& of_process() {
    static rank_states* states = nullptr;
    return states;
  }
  void says(std::uint64_t word) {
    now_ = word;
    std::atomic_ref(*mine_).store(word, std::memory_order_relaxed);
  }

  MPI_Win window_ = MPI_WIN_NULL;
  std::uint64_t* mine_ = nullptr;
  std::uint64_t now_ = 0;
  mesh_shape mesh_;
  std::string text_;
};

}  // namespace mtf::mpi
