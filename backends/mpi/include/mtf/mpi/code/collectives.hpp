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
#include <mtf/backend/copy_alone.hpp>
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
  if (chosen.shared_memory) find_nodes();
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

bool mpi_collectives::takes_device_memory() const { return mpi_device_aware(); }

void mpi_collectives::check(collective const& c) {
  if (!alone(c.axes)) compare(backend::call_of(c), c.axes);
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

void mpi_collectives::do_communicate(collective const& c, void const* in, void* out) {
  if (done_alone(c)) return backend::copy_alone(c, in, out);
  mpi::rank_states::in_collective const here(c.axes & wide_);
  if (!made_in_node(c, false, in, out)) send(c, in, out, nullptr);
}
collectives::handle mpi_collectives::do_start(collective const& c, void const* in, void* out) {
  if (done_alone(c)) {
    backend::copy_alone(c, in, out);
    return {};
  }
  {
    mpi::rank_states::in_collective const here(c.axes & wide_);
    if (made_in_node(c, true, in, out)) return {};
  }
  auto* const fresh = new mpi::mpi_request(place_of(c, true));
  handle started(fresh);
  send(c, in, out, fresh);
  return started;
}

mpi::mpi_place mpi_collectives::place_of(collective const& c, bool started) const {
  switch (c.kind) {
    case collective_kind::all_reduce:
      return at(started ? "MPI_Iallreduce" : "MPI_Allreduce", c.axes);
    case collective_kind::reduce_scatter:
      return at(started ? "MPI_Ireduce_scatter_block" : "MPI_Reduce_scatter_block", c.axes);
    case collective_kind::all_gather:
      return at(started ? "MPI_Iallgather" : "MPI_Allgather", c.axes);
    case collective_kind::all_to_all:
      if (c.sends != nullptr) return at("MPI_Irecv", c.axes);
      return at(started ? "MPI_Ialltoall" : "MPI_Alltoall", c.axes);
    case collective_kind::permute:
      return at(started ? "MPI_Irecv" : "MPI_Sendrecv", c.axes);
    case collective_kind::exclusive_sum:
      return at(started ? "MPI_Iexscan" : "MPI_Exscan", c.axes);
  }
  return at("MPI", c.axes);
}

bool mpi_collectives::made_in_node(collective const& c, bool started, void const* in, void* out) {
  if (c.on_device || alone(c.axes)) return false;
  auto const bytes = c.count * backend::size_of(c.type);
  // A started sum is done at once: no other processor would do it meanwhile.
  bool const sums = c.kind == collective_kind::all_reduce || c.kind == collective_kind::reduce_scatter;
  bool const moves = !started && ((c.kind == collective_kind::all_gather && bytes <= mpi::node_group::longest_move) ||
                                  (c.kind == collective_kind::all_to_all && c.sends == nullptr &&
                                   bytes * group_size(c.axes) <= mpi::node_group::longest_move));
  auto* const node = sums || moves ? node_of(c.axes) : nullptr;
  if (node == nullptr) return false;
  if (c.kind == collective_kind::all_reduce) node->all_reduce(c.op, c.type, in, out, c.count);
  if (c.kind == collective_kind::reduce_scatter) node->reduce_scatter(c.type, in, out, c.count);
  if (c.kind == collective_kind::all_gather) node->all_gather(in, out, bytes);
  if (c.kind == collective_kind::all_to_all) node->all_to_all(in, out, bytes);
  return true;
}

void mpi_collectives::send(collective const& c, void const* in, void* out, mpi::mpi_request* started) {
  // MPI writes nothing there.
  if (!c.on_device && c.count != 0 && c.out_is_zero(mesh().index_within(rank(), c.axes) == 0))
    std::memset(out, 0, c.count * backend::size_of(c.type));
  switch (c.kind) {
    case collective_kind::all_reduce:
      return reduce_all(c, in, out, started);
    case collective_kind::reduce_scatter:
      return reduce_blocks(c, in, out, started);
    case collective_kind::all_gather:
      return gather(c, in, out, started);
    case collective_kind::all_to_all:
      return c.sends == nullptr ? exchange_blocks(c, in, out, started) : exchange_counted(c, in, out, started);
    case collective_kind::permute:
      return permute(c, in, out, started);
    case collective_kind::exclusive_sum:
      return sum_before(c, in, out, started);
  }
}

void mpi_collectives::reduce_all(collective const& c, void const* in, void* out, mpi::mpi_request* started) {
  auto const type = mpi::mpi_type(c.type);
  auto const op = operations_->find(c.op, c.type);
  each_piece(c, in, out, [&](void const* from, void* to, int n) {
    mpi::mpi_check(started == nullptr ? MPI_Allreduce(from, to, n, type, op, comm(c.axes))
                                      : MPI_Iallreduce(from, to, n, type, op, comm(c.axes), started->add()),
                   place_of(c, started != nullptr));
  });
}
// Reductions take no derived types, and a piece of every block is not contiguous: many elements go as one reduction
// to each rank of the group.
void mpi_collectives::reduce_blocks(collective const& c, void const* in, void* out, mpi::mpi_request* started) {
  auto const type = mpi::mpi_type(c.type);
  auto const sum = operations_->find(combine::sum, c.type);
  MPI_Comm const ranks = comm(c.axes);
  if (!many(c)) {
    auto const n = static_cast<int>(c.count);
    return mpi::mpi_check(started == nullptr ? MPI_Reduce_scatter_block(in, out, n, type, sum, ranks)
                                             : MPI_Ireduce_scatter_block(in, out, n, type, sum, ranks, started->add()),
                          place_of(c, started != nullptr));
  }
  auto const stride = c.count * backend::size_of(c.type);
  for (std::size_t b = 0; b < group_size(c.axes); ++b)
    each_piece(c, static_cast<std::byte const*>(in) + b * stride, out, [&](void const* from, void* to, int n) {
      auto const root = static_cast<int>(b);
      mpi::mpi_check(started == nullptr ? MPI_Reduce(from, to, n, type, sum, root, ranks)
                                        : MPI_Ireduce(from, to, n, type, sum, root, ranks, started->add()),
                     at(started == nullptr ? "MPI_Reduce" : "MPI_Ireduce", c.axes));
    });
}
void mpi_collectives::gather(collective const& c, void const* in, void* out, mpi::mpi_request* started) {
  as_int(many(c), c.type, c.count, [&](int n, MPI_Datatype block) {
    auto const* const from = own_block(c, in, out);
    mpi::mpi_check(started == nullptr ? MPI_Allgather(from, n, block, out, n, block, comm(c.axes))
                                      : MPI_Iallgather(from, n, block, out, n, block, comm(c.axes), started->add()),
                   place_of(c, started != nullptr));
  });
}
void mpi_collectives::exchange_blocks(collective const& c, void const* in, void* out, mpi::mpi_request* started) {
  as_int(many(c), c.type, c.count, [&](int n, MPI_Datatype block) {
    mpi::mpi_check(started == nullptr ? MPI_Alltoall(in, n, block, out, n, block, comm(c.axes))
                                      : MPI_Ialltoall(in, n, block, out, n, block, comm(c.axes), started->add()),
                   place_of(c, started != nullptr));
  });
}
// Messages, as MPI_Alltoallv takes its counts and places in ints.
void mpi_collectives::exchange_counted(collective const& c, void const* in, void* out, mpi::mpi_request* started) {
  mpi::mpi_request here(place_of(c, true));
  auto& open = started == nullptr ? here : *started;
  auto const stride = c.count * backend::size_of(c.type);
  for (std::size_t r = 0; r < group_size(c.axes); ++r)
    if (c.sends[r] > c.count || c.receives[r] > c.count)
      throw std::logic_error(backend::place_text(backend::call_of(c).name, c.axes, text_) + ": rank " +
                             std::to_string(rank()) + " sends " + std::to_string(c.sends[r]) + " and receives " +
                             std::to_string(c.receives[r]) + " elements, of at most " + std::to_string(c.count));
  // Each begins with the block behind its own, so that not all send to one.
  auto const p = group_size(c.axes), me = static_cast<std::size_t>(mesh().index_within(rank(), c.axes));
  for (std::size_t i = 1; i <= p; ++i) {
    auto const r = (me + p - i) % p;
    as_int(c.receives[r] > largest_, c.type, c.receives[r], [&](int n, MPI_Datatype block) {
      mpi::mpi_check(MPI_Irecv(static_cast<std::byte*>(out) + r * stride, n, block, static_cast<int>(r), 0,
                               comm(c.axes), open.add()),
                     at("MPI_Irecv", c.axes));
    });
  }
  for (std::size_t i = 1; i <= p; ++i) {
    auto const r = (me + i) % p;
    as_int(c.sends[r] > largest_, c.type, c.sends[r], [&](int n, MPI_Datatype block) {
      mpi::mpi_check(MPI_Isend(static_cast<std::byte const*>(in) + r * stride, n, block, static_cast<int>(r), 0,
                               comm(c.axes), open.add()),
                     at("MPI_Isend", c.axes));
    });
  }
  here.wait();
}
void mpi_collectives::permute(collective const& c, void const* in, void* out, mpi::mpi_request* started) {
  auto const partner = [](int r) { return r == collective::nobody ? MPI_PROC_NULL : r; };
  as_int(c.count > largest_, c.type, c.count, [&](int n, MPI_Datatype block) {
    int code = MPI_SUCCESS;
    if (started == nullptr) {
      code = MPI_Sendrecv(in, n, block, partner(c.to), 0, out, n, block, partner(c.from), 0, world_, MPI_STATUS_IGNORE);
    } else {
      code = MPI_Irecv(out, n, block, partner(c.from), 0, world_, started->add());
      if (code == MPI_SUCCESS) code = MPI_Isend(in, n, block, partner(c.to), 0, world_, started->add());
    }
    if (code == MPI_SUCCESS) return;
    throw mpi_error("MPI_Sendrecv to rank " + std::to_string(c.to) + " and from rank " + std::to_string(c.from) +
                    " of mesh " + text_ + " failed: " + mpi::mpi_text(code));
  });
}
void mpi_collectives::sum_before(collective const& c, void const* in, void* out, mpi::mpi_request* started) {
  auto const type = mpi::mpi_type(c.type);
  auto const sum = operations_->find(combine::sum, c.type);
  each_piece(c, in, out, [&](void const* from, void* to, int n) {
    mpi::mpi_check(started == nullptr ? MPI_Exscan(from, to, n, type, sum, comm(c.axes))
                                      : MPI_Iexscan(from, to, n, type, sum, comm(c.axes), started->add()),
                   place_of(c, started != nullptr));
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

void const* mpi_collectives::own_block(collective const& c, void const* in, void* out) const {
  auto const me = static_cast<std::size_t>(mesh().index_within(rank(), c.axes));
  return in == static_cast<std::byte*>(out) + me * c.count * backend::size_of(c.type) ? MPI_IN_PLACE : in;
}

template <class F>
void mpi_collectives::each_piece(collective const& c, void const* in, void* out, F const& f) const {
  auto const size = backend::size_of(c.type);
  for (std::size_t i = 0; i < c.count; i += largest_) {
    void* const to = static_cast<std::byte*>(out) + i * size;
    void const* const from = in == out ? MPI_IN_PLACE : static_cast<std::byte const*>(in) + i * size;
    f(from, to, static_cast<int>(std::min(largest_, c.count - i)));
  }
}
template <class F>
void mpi_collectives::as_int(bool large, element type, std::size_t count, F const& f) const {
  auto const mpi_type = mpi::mpi_type(type);
  if (!large) return f(static_cast<int>(count), mpi_type);
  mpi::block_type const block(mpi_type, backend::size_of(type), count, largest_);
  f(1, block.get());
}

}  // namespace mtf
