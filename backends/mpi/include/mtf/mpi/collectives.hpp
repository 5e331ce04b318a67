#pragma once
// Collectives between processes: one communicator for each set of mesh axes, made once. Groups on one node exchange
// data through shared memory, others through MPI.
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collective_call.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/core/error.hpp>
#include <mtf/mpi/compiled.hpp>
#include <mtf/mpi/error.hpp>

namespace mtf {

namespace mpi {

class mpi_operations;
class mpi_request;
class node_group;

/// What is wrong if mpirun started another number of ranks than a mesh needs, and what to do.
MTF_MPI_CODE std::string wrong_rank_count(std::string const& mesh, int needed, int started);

}  // namespace mpi

/// The ranks of MPI_COMM_WORLD as a mesh, row-major. Making one is a collective call; MPI must be initialized, and be
/// finalized after the object is gone. Axes of extent 1 cost nothing: what runs over them alone is a local copy.
///
/// With MTF_CHECKED=1 in the environment of a rank, calls are compared before they are made: kind, axes, combination,
/// element type, count, and the operation that makes them. Ranks whose calls differ end with an error that names both
/// (unchecked, MPI pairs what it can: wrong numbers, or a hang); one that waits for the others longer than
/// MTF_CHECKED_SECONDS, 60 if it is not set, ends with one that says where.
class mpi_collectives final : public collectives {
 public:
  /// The most elements that one MPI call moves or reduces; larger counts go in pieces.
  static constexpr std::size_t most_elements = std::size_t{1} << 30U;

  /// For tests and measurements; programs need none of them.
  struct options {
    bool shared_memory = true;            // within a node; false: MPI everywhere
    std::size_t largest = most_elements;  // for tests of large counts
  };

  /// `text` names the mesh in errors, "rows:2 cols:4". Throws user_error if the number of ranks is not the size of the
  /// mesh.
  MTF_MPI_CODE explicit mpi_collectives(mesh_shape const& mesh, std::string text = {});
  MTF_MPI_CODE mpi_collectives(mesh_shape const& mesh, std::string text, options chosen);
  MTF_MPI_CODE ~mpi_collectives() override;
  mpi_collectives(mpi_collectives const&) = delete;
  mpi_collectives& operator=(mpi_collectives const&) = delete;

  [[nodiscard]] std::string mesh_text() const override { return text_; }
  MTF_MPI_CODE void barrier() override;
  MTF_MPI_CODE bool any(bool mine) override;
  [[nodiscard]] MTF_MPI_CODE bool takes_device_memory() const override;

  /// Whether calls are compared, the same on all ranks.
  [[nodiscard]] bool compares() const { return compares_; }
  /// Compares a call with those of its group, also one that another library makes.
  MTF_MPI_CODE void check(collective const& c) override;

 protected:
  MTF_MPI_CODE void do_communicate(collective const& c, void const* in, void* out) override;
  MTF_MPI_CODE handle do_start(collective const& c, void const* in, void* out) override;

 private:
  /// The ranks of a group make this call, in the same operation: else an exception that says what others call, or where
  /// this rank waits for them.
  MTF_MPI_CODE void compare(backend::collective_call const& call, axis_mask axes) const;

  /// MTF_CHECKED_SECONDS, or 60.
  [[nodiscard]] MTF_MPI_CODE static std::chrono::seconds checked_patience();
  // Of a communicator that was made: checks that it was, and has it return its errors.
  MTF_MPI_CODE static void keep(MPI_Comm const& made, int code, mpi::mpi_place const& place);

  [[nodiscard]] mpi::mpi_place at(char const* call, axis_mask axes) const { return {call, text_, axes}; }
  /// Where MPI makes a collective, in the text of errors.
  [[nodiscard]] MTF_MPI_CODE mpi::mpi_place place_of(collective const& c, bool started) const;
  [[nodiscard]] bool alone(axis_mask axes) const { return (axes & wide_) == 0; }
  // A permute's partners are MPI's to check.
  [[nodiscard]] bool done_alone(collective const& c) const {
    return alone(c.axes) && c.kind != collective_kind::permute;
  }
  [[nodiscard]] MPI_Comm comm(axis_mask axes) const { return comms_[axes & wide_]; }
  // Libraries also count the elements of all blocks together in an int.
  [[nodiscard]] bool many(collective const& c) const { return c.count * group_size(c.axes) > largest_; }

  /// Which node each rank of the mesh runs on, told by the lowest rank there.
  MTF_MPI_CODE void find_nodes();
  /// True if no group along `axes` spans nodes. All groups share memory, or none: its sums are taken in another order
  /// than MPI's, and replicas in different groups must get the same bits.
  [[nodiscard]] MTF_MPI_CODE bool within_nodes(axis_mask axes) const;
  /// The shared memory of this rank's group, made at its first use; null if groups span nodes or memory cannot be
  /// shared.
  MTF_MPI_CODE mpi::node_group* node_of(axis_mask axes);

  /// Made through the group's shared memory; false: it is MPI's to make.
  MTF_MPI_CODE bool made_in_node(collective const& c, bool started, void const* in, void* out);
  /// Made by MPI: over when it returns, or, with `started`, when its requests are.
  MTF_MPI_CODE void send(collective const& c, void const* in, void* out, mpi::mpi_request* started);
  // send, by kinds
  MTF_MPI_CODE void reduce_all(collective const& c, void const* in, void* out, mpi::mpi_request* started);
  MTF_MPI_CODE void reduce_blocks(collective const& c, void const* in, void* out, mpi::mpi_request* started);
  MTF_MPI_CODE void gather(collective const& c, void const* in, void* out, mpi::mpi_request* started);
  MTF_MPI_CODE void exchange_blocks(collective const& c, void const* in, void* out, mpi::mpi_request* started);
  MTF_MPI_CODE void exchange_counted(collective const& c, void const* in, void* out, mpi::mpi_request* started);
  MTF_MPI_CODE void permute(collective const& c, void const* in, void* out, mpi::mpi_request* started);
  MTF_MPI_CODE void sum_before(collective const& c, void const* in, void* out, mpi::mpi_request* started);

  /// `in` of an all-gather as MPI wants it: MPI_IN_PLACE if it is this rank's block of `out`.
  MTF_MPI_CODE void const* own_block(collective const& c, void const* in, void* out) const;
  /// f(in, out, n) for pieces of at most `largest_` elements. All ranks split alike.
  template <class F>
  void each_piece(collective const& c, void const* in, void* out, F const& f) const;
  /// f(n, datatype) for a block of `count` elements: elements as they are, or one large datatype.
  template <class F>
  void as_int(bool large, element type, std::size_t count, F const& f) const;

  std::string text_;
  std::size_t largest_;
  axis_mask wide_ = 0;  // the axes with more than one rank
  MPI_Comm world_ = MPI_COMM_NULL;
  std::array<MPI_Comm, std::size_t{1} << static_cast<unsigned>(max_axes)> comms_;
  struct group_memory {
    bool looked_for = false;
    std::unique_ptr<mpi::node_group> shared;
  };
  std::array<group_memory, std::size_t{1} << static_cast<unsigned>(max_axes)> groups_;
  std::vector<int> nodes_;  // empty: no memory is shared
  std::unique_ptr<mpi::mpi_operations> operations_;
  bool compares_ = false;  // calls, before they are made
};

}  // namespace mtf

#if !defined(MTF_MPI_COMPILED)
#include <mtf/mpi/code/collectives.hpp>
#endif
