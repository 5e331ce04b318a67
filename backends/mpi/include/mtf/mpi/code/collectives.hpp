#pragma once
// Collectives over mesh axes, in terms of MPI and of shared memory.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/backend/between_ranks.hpp>
#include <mtf/core/error.hpp>
#include <mtf/mpi/collectives.hpp>
#include <mtf/mpi/device.hpp>
#include <mtf/mpi/error.hpp>
#include <mtf/mpi/rank_states.hpp>
#include <mtf/mpi/request.hpp>
#include <mtf/mpi/shared_memory/node_group.hpp>
#include <mtf/mpi/types.hpp>

namespace mtf {

namespace mpi {

std::string wrong_rank_count(std::string const& mesh, int needed, int started) {
  auto const n = std::to_string(needed);
  return "mesh " + mesh + " needs " + n + (needed == 1 ? " rank" : " ranks") + "; mpirun started " +
         std::to_string(started) + ": use mpirun -n " + n;
}

inline int mpi_world_rank() {
  int initialized = 0, rank = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0)
    throw user_error(
        "mtf::mpi_collectives are made before MPI is initialized: make them in mtf::run, or behind MPI_Init");
  mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), {"MPI_Comm_rank"});
  return rank;
}

}  // namespace mpi

mpi_collectives::mpi_collectives(mesh_shape const& mesh, std::string text)
    : mpi_collectives(mesh, std::move(text), {}) {}
mpi_collectives::mpi_collectives(mesh_shape const& mesh, std::string text, options chosen)
    : collectives(mesh, mpi::mpi_world_rank()),
      text_(std::move(text)),
      largest_(chosen.largest),
      operations_(std::make_unique<mpi::mpi_operations>()) {
  int started = 0;
  mpi::mpi_check(MPI_Comm_size(MPI_COMM_WORLD, &started), {"MPI_Comm_size"});
  if (text_.empty()) text_ = backend::mesh_text(mesh);
  if (started != mesh.size()) throw user_error(mpi::wrong_rank_count(text_, mesh.size(), started));
  for (int a = 0; a < mesh.ndim; ++a)
    if (mesh.size(axis_mask{1} << a) > 1) wide_ |= axis_mask{1} << a;
  keep(world_, MPI_Comm_dup(MPI_COMM_WORLD, &world_), {"MPI_Comm_dup", text_});
  comms_.fill(MPI_COMM_NULL);
  for (axis_mask axes = 1; axes < comms_.size(); ++axes)
    if ((axes & ~wide_) == 0) {
      auto& made = comms_[axes];
      keep(made, MPI_Comm_split(world_, mesh.group_of(rank(), axes), mesh.index_within(rank(), axes), &made),
           {"MPI_Comm_split", text_, axes});
    }
  mpi::rank_states::are_of(mesh, text_);
  auto const* const asked = std::getenv("MTF_CHECKED");
  compares_ = any(asked != nullptr && std::string_view(asked) != "0" && *asked != '\0');
  checked(compares_);
  // An MPI that takes device memory gets device pointers, which memcpy does not take.
  if (chosen.shared_memory && !mpi_device_aware()) find_nodes();
}
mpi_collectives::~mpi_collectives() {
  for (auto& c : comms_)
    if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
  MPI_Comm_free(&world_);
}

void mpi_collectives::barrier() {
  if (wide_ == 0) return;
  if (compares_) compare({.name = "barrier"}, wide_);
  mpi::rank_states::in_collective const here(wide_);
  mpi::mpi_check(MPI_Barrier(world_), at("MPI_Barrier", wide_));
}
bool mpi_collectives::any(bool mine) {
  if (wide_ == 0) return mine;
  if (compares_) compare({.name = "any", .op = combine::max, .count = 1}, wide_);
  mpi::rank_states::in_collective const here(wide_);
  int theirs = mine ? 1 : 0;
  mpi::mpi_check(MPI_Allreduce(MPI_IN_PLACE, &theirs, 1, MPI_INT, MPI_LOR, world_), at("MPI_Allreduce", wide_));
  return theirs != 0;
}

void mpi_collectives::check(collective kind, axis_mask axes, combine op, element type, std::size_t count) {
  if (!alone(axes)) compare({name_of(kind), op, type, count}, axes);
}
void mpi_collectives::compare(backend::collective_call const& call, axis_mask axes) const {
  struct told {
    std::array<char, 24> call;
    std::array<char, 72> operation;
    std::int64_t op, type;
    std::uint64_t count;
  };
  told mine{};  // its padding too: the bytes are compared
  std::memset(&mine, 0, sizeof mine);
  call.name.copy(mine.call.data(), mine.call.size() - 1);
  if (char const* const name = operation(); name != nullptr)
    std::string_view(name).copy(mine.operation.data(), mine.operation.size() - 1);
  mine.op = static_cast<std::int64_t>(call.op);
  mine.type = static_cast<std::int64_t>(call.type);
  mine.count = call.count;
  auto const words_of = [](told const& t) {
    backend::collective_call const c{t.call.data(), static_cast<combine>(t.op), static_cast<element>(t.type),
                                     static_cast<std::size_t>(t.count)};
    return c.text() + (t.operation[0] == 0 ? "" : std::string(" in ") + t.operation.data());
  };
  std::vector<told> all(group_size(axes));
  MPI_Request arrived = MPI_REQUEST_NULL;
  mpi::rank_states::in_collective const here(axes & wide_);
  mpi::mpi_check(MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm(axes), &arrived),
                 at("MPI_Iallgather", axes));
  if (!mpi::done_in_time(arrived, checked_patience()))
    throw std::logic_error(backend::place_text(words_of(mine), axes, text_) + " waits for others since " +
                           std::to_string(checked_patience().count()) + " s: all ranks must make the same calls");
  for (int r = 0; r < mesh().size(); ++r) {
    if (mesh().group_of(r, axes) != mesh().group_of(rank(), axes)) continue;
    auto const& theirs = all[static_cast<std::size_t>(mesh().index_within(r, axes))];
    if (std::memcmp(&theirs, &mine, sizeof mine) != 0)
      throw std::logic_error(backend::place_text(words_of(mine), axes, text_) + " meets rank " + std::to_string(r) +
                             "'s " + words_of(theirs) + ": all ranks must make the same calls");
  }
}
std::chrono::seconds mpi_collectives::checked_patience() {
  auto const* const asked = std::getenv("MTF_CHECKED_SECONDS");
  int const seconds = asked == nullptr ? 0 : std::atoi(asked);
  return std::chrono::seconds(seconds > 0 ? seconds : 60);
}

void mpi_collectives::do_all_reduce(axis_mask axes, combine op, element type, void const* in, void* out,
                                    std::size_t count) {
  if (alone(axes)) return copy(type, in, out, count);
  mpi::rank_states::in_collective const here(axes & wide_);
  if (auto* const node = node_of(axes)) return node->all_reduce(op, type, in, out, count);
  each_piece(type, in, out, count, [&](void const* from, void* to, int n) {
    mpi::mpi_check(MPI_Allreduce(from, to, n, mpi::mpi_type(type), operations_->find(op, type), comm(axes)),
                   at("MPI_Allreduce", axes));
  });
}
collectives::handle mpi_collectives::do_start_all_reduce(axis_mask axes, combine op, element type, void const* in,
                                                         void* out, std::size_t count) {
  // Done at once: no other processor would do it meanwhile.
  if (auto* const node = alone(axes) ? nullptr : node_of(axes)) {
    mpi::rank_states::in_collective const here(axes & wide_);
    node->all_reduce(op, type, in, out, count);
    return handle(new mpi::mpi_request(at("MPI_Iallreduce", axes)));
  }
  return start("MPI_Iallreduce", axes, type, in, out, count, [&](mpi::mpi_place place, mpi::mpi_request& r) {
    each_piece(type, in, out, count, [&](void const* from, void* to, int n) {
      mpi::mpi_check(MPI_Iallreduce(from, to, n, mpi::mpi_type(type), operations_->find(op, type), comm(axes), r.add()),
                     place);
    });
  });
}

// Reductions take no derived types, and a piece of every block is not contiguous: many elements go as one reduction
// to each rank of the group.
void mpi_collectives::do_reduce_scatter(axis_mask axes, element type, void const* in, void* out, std::size_t count) {
  if (alone(axes)) return copy(type, in, out, count);
  mpi::rank_states::in_collective const here(axes & wide_);
  if (auto* const node = node_of(axes)) return node->reduce_scatter(type, in, out, count);
  auto const mpi_type = mpi::mpi_type(type);
  auto const sum = operations_->find(combine::sum, type);
  if (!many(axes, count))
    return mpi::mpi_check(MPI_Reduce_scatter_block(in, out, static_cast<int>(count), mpi_type, sum, comm(axes)),
                          at("MPI_Reduce_scatter_block", axes));
  each_block_piece(axes, type, in, out, count, [&](void const* from, void* to, int n, int root) {
    mpi::mpi_check(MPI_Reduce(from, to, n, mpi_type, sum, root, comm(axes)), at("MPI_Reduce", axes));
  });
}
collectives::handle mpi_collectives::do_start_reduce_scatter(axis_mask axes, element type, void const* in, void* out,
                                                             std::size_t count) {
  if (auto* const node = alone(axes) ? nullptr : node_of(axes)) {  // as for an all-reduce
    mpi::rank_states::in_collective const here(axes & wide_);
    node->reduce_scatter(type, in, out, count);
    return handle(new mpi::mpi_request(at("MPI_Ireduce_scatter_block", axes)));
  }
  return start("MPI_Ireduce_scatter_block", axes, type, in, out, count, [&](mpi::mpi_place place, mpi::mpi_request& r) {
    auto const mpi_type = mpi::mpi_type(type);
    auto const sum = operations_->find(combine::sum, type);
    if (!many(axes, count))
      return mpi::mpi_check(
          MPI_Ireduce_scatter_block(in, out, static_cast<int>(count), mpi_type, sum, comm(axes), r.add()), place);
    each_block_piece(axes, type, in, out, count, [&](void const* from, void* to, int n, int root) {
      mpi::mpi_check(MPI_Ireduce(from, to, n, mpi_type, sum, root, comm(axes), r.add()), place);
    });
  });
}

void mpi_collectives::do_all_gather(axis_mask axes, element type, void const* in, void* out, std::size_t count) {
  if (alone(axes)) return copy(type, in, out, count);
  mpi::rank_states::in_collective const here(axes & wide_);
  auto const bytes = count * backend::size_of(type);
  if (auto* const node = bytes <= mpi::node_group::longest_move ? node_of(axes) : nullptr)
    return node->all_gather(in, out, bytes);
  as_int(many(axes, count), type, count, [&](int n, MPI_Datatype block) {
    mpi::mpi_check(MPI_Allgather(own_block(axes, type, in, out, count), n, block, out, n, block, comm(axes)),
                   at("MPI_Allgather", axes));
  });
}
collectives::handle mpi_collectives::do_start_all_gather(axis_mask axes, element type, void const* in, void* out,
                                                         std::size_t count) {
  return start("MPI_Iallgather", axes, type, in, out, count, [&](mpi::mpi_place place, mpi::mpi_request& r) {
    as_int(many(axes, count), type, count, [&](int n, MPI_Datatype block) {
      mpi::mpi_check(
          MPI_Iallgather(own_block(axes, type, in, out, count), n, block, out, n, block, comm(axes), r.add()), place);
    });
  });
}

void mpi_collectives::do_all_to_all(axis_mask axes, element type, void const* in, void* out, std::size_t count) {
  if (alone(axes)) return copy(type, in, out, count);
  mpi::rank_states::in_collective const here(axes & wide_);
  auto const bytes = count * backend::size_of(type);
  if (auto* const node = bytes * group_size(axes) <= mpi::node_group::longest_move ? node_of(axes) : nullptr)
    return node->all_to_all(in, out, bytes);
  as_int(many(axes, count), type, count, [&](int n, MPI_Datatype block) {
    mpi::mpi_check(MPI_Alltoall(in, n, block, out, n, block, comm(axes)), at("MPI_Alltoall", axes));
  });
}

void mpi_collectives::do_permute(axis_mask axes, element type, void const* in, void* out, std::size_t count, int to,
                                 int from) {
  mpi::rank_states::in_collective const here(axes & wide_);
  as_int(count > largest_, type, count, [&](int n, MPI_Datatype block) {
    int const code = MPI_Sendrecv(in, n, block, to, 0, out, n, block, from, 0, world_, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) return;
    throw mpi_error("MPI_Sendrecv to rank " + std::to_string(to) + " and from rank " + std::to_string(from) +
                    " of mesh " + text_ + " failed: " + mpi::mpi_text(code));
  });
}

void mpi_collectives::keep(MPI_Comm const& made, int code, mpi::mpi_place const& place) {
  mpi::mpi_check(code, place);
  mpi::mpi_check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), place);
}

void mpi_collectives::find_nodes() {
  MPI_Comm here = MPI_COMM_NULL;
  keep(here, MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here),
       {"MPI_Comm_split_type", text_});
  int first = rank();
  int const told = MPI_Bcast(&first, 1, MPI_INT, 0, here);
  bool const shares = mpi::shared_memory(here, 1).data() != nullptr;
  MPI_Comm_free(&here);
  mpi::mpi_check(told, {"MPI_Bcast", text_});
  if (any(!shares)) return;
  nodes_.resize(static_cast<std::size_t>(mesh().size()));
  mpi::mpi_check(MPI_Allgather(&first, 1, MPI_INT, nodes_.data(), 1, MPI_INT, world_), {"MPI_Allgather", text_});
}
bool mpi_collectives::within_nodes(axis_mask axes) const {
  if (nodes_.empty()) return false;
  std::vector<int> node(nodes_.size(), -1);  // of each group
  for (int r = 0; r < mesh().size(); ++r) {
    int& of_group = node[static_cast<std::size_t>(mesh().group_of(r, axes))];
    int const here = nodes_[static_cast<std::size_t>(r)];
    if (of_group >= 0 && of_group != here) return false;
    of_group = here;
  }
  return true;
}
mpi::node_group* mpi_collectives::node_of(axis_mask axes) {
  auto& made = groups_[axes & wide_];
  if (!made.looked_for) {
    made.looked_for = true;
    if (within_nodes(axes)) made.shared = std::make_unique<mpi::node_group>(comm(axes));
    if (made.shared && !made.shared->usable()) made.shared.reset();
  }
  return made.shared.get();
}

// Memcpy does not take device memory; an MPI that does copies it.
void mpi_collectives::copy(element type, void const* in, void* out, std::size_t count) {
  if (in == out || count == 0) return;
  if (mpi_device_aware()) return do_permute(0, type, in, out, count, rank(), rank());
  std::memcpy(out, in, count * backend::size_of(type));
}

template <class F>
collectives::handle mpi_collectives::start(char const* call, axis_mask axes, element type, void const* in, void* out,
                                           std::size_t count, F const& f) {
  auto const place = at(call, axes);
  auto* const fresh = new mpi::mpi_request(place);
  handle started(fresh);
  if (alone(axes))
    copy(type, in, out, count);
  else
    f(place, *fresh);
  return started;
}

void const* mpi_collectives::own_block(axis_mask axes, element type, void const* in, void* out,
                                       std::size_t count) const {
  auto const me = static_cast<std::size_t>(mesh().index_within(rank(), axes));
  return in == static_cast<std::byte*>(out) + me * count * backend::size_of(type) ? MPI_IN_PLACE : in;
}

template <class F>
void mpi_collectives::each_piece(element type, void const* in, void* out, std::size_t count, F const& f) const {
  auto const size = backend::size_of(type);
  for (std::size_t i = 0; i < count; i += largest_) {
    void* const to = static_cast<std::byte*>(out) + i * size;
    void const* const from = in == out ? MPI_IN_PLACE : static_cast<std::byte const*>(in) + i * size;
    f(from, to, static_cast<int>(std::min(largest_, count - i)));
  }
}
template <class F>
void mpi_collectives::each_block_piece(axis_mask axes, element type, void const* in, void* out, std::size_t count,
                                       F const& f) const {
  auto const stride = count * backend::size_of(type);
  for (std::size_t b = 0; b < group_size(axes); ++b)
    each_piece(type, static_cast<std::byte const*>(in) + b * stride, out, count,
               [&](void const* from, void* to, int n) { f(from, to, n, static_cast<int>(b)); });
}
template <class F>
void mpi_collectives::as_int(bool large, element type, std::size_t count, F const& f) const {
  auto const mpi_type = mpi::mpi_type(type);
  if (!large) return f(static_cast<int>(count), mpi_type);
  mpi::block_type const block(mpi_type, backend::size_of(type), count, largest_);
  f(1, block.get());
}

}  // namespace mtf
