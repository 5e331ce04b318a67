#pragma once
// Collectives between the processes of a group on one node, through memory that they share. Each process copies what
// others need into its own part of that memory, a piece at a time that stays in cache, and all read from each other's
// parts: an all-reduce is a reduce-scatter and an all-gather (Rabenseifner 2004). Sums are taken in the order of the
// group.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/reduce_in_order.hpp>
#include <mtf/mpi/shared_memory/segment.hpp>

namespace mtf::mpi {

class node_group {
 public:
  /// To be called by all processes of `comm` together; all of them must run on one node.
  explicit node_group(MPI_Comm comm)
      : me_(place(comm, MPI_Comm_rank)), size_(place(comm, MPI_Comm_size)), memory_(comm, size_ * part_bytes) {
    if (!usable()) return;
    new (part(me_)) arrival{};
    mpi_check(MPI_Barrier(comm), {"MPI_Barrier"});
  }

  /// All-gathers and all-to-alls of more bytes per process are MPI's: they combine nothing, and MPI libraries read such
  /// messages where they are, in one copy (Open MPI 4.1: 0.8 of the time that two copies take).
  static constexpr std::size_t longest_move = std::size_t{16} << 10U;

  /// False if the processes could not get memory to share: then nothing else may be called.
  [[nodiscard]] bool usable() const { return memory_.data() != nullptr; }

  void all_reduce(combine op, element type, void const* in, void* out, std::size_t count) {
    auto const each = backend::size_of(type);
    if (count * each <= small) {
      auto const turn = show([&](std::byte* mine) { copy(mine, in, count * each); });
      inputs_.clear();
      for (std::size_t r = 0; r < size_; ++r) inputs_.push_back(shown(r, turn));
      return backend::reduce_in_order(op, type, inputs_, 0, count, out);
    }
    std::size_t const most = piece_bytes() / each;
    for (std::size_t at = 0; at < count; at += most * size_) {
      auto const left = std::min(most * size_, count - at);
      auto const begin = [&](std::size_t r) { return left / size_ * r + std::min(r, left % size_); };
      auto const* const from = byte(in, at * each);
      auto* const to = byte(out, at * each);
      auto const turn = show([&](std::byte* mine) {
        for (std::size_t r = 0; r < size_; ++r)
          if (r != me_) copy(mine + r * piece_bytes(), from + begin(r) * each, (begin(r + 1) - begin(r)) * each);
      });
      auto* const result = to + begin(me_) * each;
      auto const mine = begin(me_ + 1) - begin(me_);
      reduce_blocks(op, type, turn, from + begin(me_) * each, result, mine);
      copy(shown(me_, turn) + me_ * piece_bytes(), result, mine * each);
      meet();
      for (std::size_t r = 0; r < size_; ++r)
        if (r != me_) copy(to + begin(r) * each, shown(r, turn) + r * piece_bytes(), (begin(r + 1) - begin(r)) * each);
    }
  }

  void reduce_scatter(element type, void const* in, void* out, std::size_t count) {
    auto const each = backend::size_of(type);
    exchange(in, count * each, each, [&](std::size_t turn, std::size_t at, std::size_t bytes) {
      reduce_blocks(combine::sum, type, turn, byte(in, me_ * count * each + at), byte(out, at), bytes / each);
    });
  }

  void all_to_all(void const* in, void* out, std::size_t bytes) {
    exchange(in, bytes, 1, [&](std::size_t turn, std::size_t at, std::size_t n) {
      for (std::size_t r = 0; r < size_; ++r)
        copy(byte(out, r * bytes + at), r == me_ ? byte(in, me_ * bytes + at) : shown(r, turn) + me_ * piece_bytes(),
             n);
    });
  }

  void all_gather(void const* in, void* out, std::size_t bytes) {
    copy(byte(out, me_ * bytes), in, bytes);
    for (std::size_t at = 0; at < bytes; at += set_bytes) {
      auto const n = std::min(set_bytes, bytes - at);
      auto const turn = show([&](std::byte* mine) { copy(mine, byte(in, at), n); });
      for (std::size_t r = 0; r < size_; ++r)
        if (r != me_) copy(byte(out, r * bytes + at), shown(r, turn), n);
    }
  }

 private:
  // Two sets of pieces, used in turn: before a process writes into one again, it has met all others after they read it.
  static constexpr std::size_t set_bytes = std::size_t{256} << 10U;
  static constexpr std::size_t header_bytes = 128;  // two cache lines: processors fetch them in pairs
  static constexpr std::size_t part_bytes = (header_bytes + 2 * set_bytes + 4095) / 4096 * 4096;
  /// Inputs of up to so many bytes are read whole by all: one meeting instead of two.
  static constexpr std::size_t small = 4096;

  /// How many meetings a process has come to.
  struct arrival {
    std::atomic<std::uint64_t> meetings{0};
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  static std::size_t place(MPI_Comm comm, int (*ask)(MPI_Comm, int*)) {
    int n = 0;
    mpi_check(ask(comm, &n), {"MPI_Comm_rank"});
    return static_cast<std::size_t>(n);
  }
  static std::byte const* byte(void const* p, std::size_t at) { return static_cast<std::byte const*>(p) + at; }
  static std::byte* byte(void* p, std::size_t at) { return static_cast<std::byte*>(p) + at; }
  static void copy(void* to, void const* from, std::size_t bytes) {
    if (to != from && bytes != 0) std::memcpy(to, from, bytes);
  }

  [[nodiscard]] std::byte* part(std::size_t r) const { return memory_.data() + r * part_bytes; }
  [[nodiscard]] std::atomic<std::uint64_t>& meetings(std::size_t r) const {
    return std::launder(reinterpret_cast<arrival*>(part(r)))->meetings;
  }
  [[nodiscard]] std::byte* shown(std::size_t r, std::size_t turn) const {
    return part(r) + header_bytes + turn * set_bytes;
  }
  /// A set holds one piece for each process.
  [[nodiscard]] std::size_t piece_bytes() const { return std::max(set_bytes / size_ / 64, std::size_t{1}) * 64; }

  /// Writes the next set by f(set); returns which it is when all have written theirs.
  template <class F>
  std::size_t show(F const& f) {
    auto const turn = turns_++ % 2;
    f(shown(me_, turn));
    meet();
    return turn;
  }
  void meet() {
    ++met_;
    meetings(me_).store(met_, std::memory_order_release);
    for (std::size_t r = 0; r < size_; ++r)
      for (int spins = 0; meetings(r).load(std::memory_order_acquire) < met_; ++spins) {
        if (spins < patience_spins) {
          pause();
          continue;
        }
        std::this_thread::yield();  // more processes than cores
        int none = 0;               // others may read what this rank waits for (rank_states), with MPI's help
        if (spins % patience_spins == 0) MPI_Iprobe(0, 0, MPI_COMM_SELF, &none, MPI_STATUS_IGNORE);
      }
  }
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  static constexpr int patience_spins = 1000;

  /// Sends each process its block of `in`, of `bytes` bytes, piece by piece. For each piece f(turn, at, n): the sets of
  /// this turn hold n bytes of each block, from `at` on. Elements of `each` bytes are not divided.
  template <class F>
  void exchange(void const* in, std::size_t bytes, std::size_t each, F const& f) {
    auto const most = piece_bytes() / each * each;
    for (std::size_t at = 0; at < bytes; at += most) {
      auto const n = std::min(most, bytes - at);
      auto const turn = show([&](std::byte* mine) {
        for (std::size_t r = 0; r < size_; ++r)
          if (r != me_) copy(mine + r * piece_bytes(), byte(in, r * bytes + at), n);
      });
      f(turn, at, n);
    }
  }
  /// Combines what all have shown for this process with its own.
  void reduce_blocks(combine op, element type, std::size_t turn, void const* own, void* out, std::size_t count) {
    inputs_.clear();
    for (std::size_t r = 0; r < size_; ++r) inputs_.push_back(r == me_ ? own : shown(r, turn) + me_ * piece_bytes());
    backend::reduce_in_order(op, type, inputs_, 0, count, out);
  }

  std::size_t me_, size_;
  shared_memory memory_;
  std::vector<void const*> inputs_;
  std::uint64_t met_ = 0;
  std::size_t turns_ = 0;
};

}  // namespace mtf::mpi
