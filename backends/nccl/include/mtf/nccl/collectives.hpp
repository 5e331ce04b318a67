#pragma once
// Collectives between GPUs by NCCL: a communicator for each set of mesh axes, split off the world's. What lies in
// memory of the host is MPI's, which also starts NCCL.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/mpi/collectives.hpp>
#include <mtf/mpi/error.hpp>
#include <mtf/nccl/blocks.hpp>
#include <mtf/nccl/error.hpp>

namespace mtf {

namespace nccl {

/// NCCL's name for it. (A bool is a byte, which is moved alone.)
inline ncclDataType_t type_of(element type) {
  switch (type) {
    case element::f32:
      return ncclFloat32;
    case element::f64:
      return ncclFloat64;
    case element::bf16:
      return ncclBfloat16;
    case element::i32:
      return ncclInt32;
    case element::i64:
      return ncclInt64;
    case element::boolean:
      return ncclUint8;
  }
  return ncclUint8;
}

/// A mark in a stream, for another to wait for.
class mark {
 public:
  mark() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  ~mark() { cudaEventDestroy(event_); }
  mark(mark const&) = delete;
  mark& operator=(mark const&) = delete;
  /// The same where nothing may be thrown.
  void before_at_last(cudaStream_t what) const noexcept { static_cast<void>(cudaStreamWaitEvent(what, event_, 0)); }
  /// Marks what is in the stream so far.
  void put(cudaStream_t into) { check(cudaEventRecord(event_, into), "cudaEventRecord"); }
  /// `what` goes on when the stream has come to where this was put last; at once, if it was put nowhere.
  void before(cudaStream_t what) { check(cudaStreamWaitEvent(what, event_, 0), "cudaStreamWaitEvent"); }

 private:
  cudaEvent_t event_{};
};

}  // namespace nccl

/// The ranks of MPI_COMM_WORLD as a mesh, row-major, each with a GPU of its own, which is current when this is made: a
/// collective call. (Where ranks share a GPU, which NCCL refuses, everything is MPI's.) Collectives on a device's
/// memory go onto the backend's stream behind the work that is there; started ones onto a second stream, which the
/// first waits for where the program waits: the host waits for neither. Sums are NCCL's, in its order; maxima and
/// minima, of which NaN is one, and exclusive sums are taken here from gathered blocks.
///
/// A rank's collectives run one after the other, in the order in which it makes them, whatever their axes and streams:
/// each begins when the one before is over. So two communicators never wait for each other's ranks, as all ranks make
/// their calls in one order. (What follows a started collective on the backend's stream waits for it only if it is a
/// collective itself.)
///
/// With MTF_CHECKED=1 these calls are compared before they are made, too, by MPI (mpi_collectives).
class nccl_collectives final : public collectives {
 public:
  /// For tests; programs need none of it.
  struct options {
    bool of_one_rank = false;  // a mesh of one rank has NCCL too, as far as collectives of groups of one are made
  };

  /// Throws user_error if the number of ranks is not the size of the mesh.
  explicit nccl_collectives(mesh_shape const& mesh, std::string text = {})
      : nccl_collectives(mesh, std::move(text), {}) {}
  nccl_collectives(mesh_shape const& mesh, std::string text, options chosen)
      : collectives(mesh, world_rank()), host_(mesh, std::move(text)) {
    if ((mesh.size() == 1 && !chosen.of_one_rank) || !each_has_a_gpu(mesh.size())) return;
    ncclUniqueId id{};
    if (rank() == 0) nccl::check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    mpi::mpi_check(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD), {"MPI_Bcast"});
    for (int a = 0; a < mesh.ndim; ++a)
      if (mesh.size(axis_mask{1} << static_cast<unsigned>(a)) > 1) wide_ |= axis_mask{1} << static_cast<unsigned>(a);
    nccl::check(ncclCommInitRank(&world_, mesh.size(), id, rank()), "ncclCommInitRank");
    for (axis_mask axes = 1; axes < comms_.size(); ++axes)
      if ((axes & ~wide_) == 0)
        nccl::check(
            ncclCommSplit(world_, mesh.group_of(rank(), axes), mesh.index_within(rank(), axes), &comms_[axes], nullptr),
            "ncclCommSplit");
    nccl::check(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    checked(host_.compares());
  }
  ~nccl_collectives() override {
    if (world_ == nullptr) return;
    for (auto& c : comms_)
      if (c != nullptr) ncclCommDestroy(c);
    ncclCommDestroy(world_);
    cudaStreamDestroy(beside_);
  }
  nccl_collectives(nccl_collectives const&) = delete;
  nccl_collectives& operator=(nccl_collectives const&) = delete;

  [[nodiscard]] std::string mesh_text() const override { return host_.mesh_text(); }
  void barrier() override { host_.barrier(); }
  bool any(bool mine) override { return host_.any(mine); }
  [[nodiscard]] bool takes_device_memory() const override { return world_ != nullptr || host_.takes_device_memory(); }
  bool on_stream(void* stream) override {
    stream_ = static_cast<cudaStream_t>(stream);
    return world_ != nullptr;
  }

 protected:
  void check(collective const& c) override {
    if (!c.on_device) return;  // host_ does
    host_.enter(operation());
    host_.check(c);
    host_.leave();
  }
  void do_communicate(collective const& c, void const* in, void* out) override {
    if (!c.on_device || world_ == nullptr) return host_.communicate(c, in, out);
    if (last_started_) last_started_->before(stream_);
    launch(c, in, out, stream_);
  }
  handle do_start(collective const& c, void const* in, void* out) override {
    if (!c.on_device || world_ == nullptr) return host_.start(c, in, out);
    auto* const fresh = new started(stream_);
    handle owned(fresh);
    fresh->mark.put(stream_);
    fresh->mark.before(beside_);
    launch(c, in, out, beside_);
    fresh->mark.put(beside_);
    if (!last_started_) last_started_.emplace();
    last_started_->put(beside_);
    return owned;
  }

 private:
  static int world_rank() {
    int initialized = 0, rank = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0) mpi::mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), {"MPI_Comm_rank"});
    return rank;  // else host_ says what is wrong
  }
  /// No two ranks have the same one.
  static bool each_has_a_gpu(int ranks) {
    struct place {
      std::array<char, MPI_MAX_PROCESSOR_NAME> node;
      std::array<char, 32> gpu;
      bool operator==(place const&) const = default;
    };
    place mine{};
    int length = 0, device = 0;
    mpi::mpi_check(MPI_Get_processor_name(mine.node.data(), &length), {"MPI_Get_processor_name"});
    nccl::check(cudaGetDevice(&device), "cudaGetDevice");
    nccl::check(cudaDeviceGetPCIBusId(mine.gpu.data(), static_cast<int>(mine.gpu.size()), device),
                "cudaDeviceGetPCIBusId");
    std::vector<place> all(static_cast<std::size_t>(ranks));
    mpi::mpi_check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD),
                   {"MPI_Allgather"});
    for (auto a = all.begin(); a != all.end(); ++a)
      if (std::find(a + 1, all.end(), *a) != all.end()) return false;
    return true;
  }

  struct started final : request {
    explicit started(cudaStream_t of) : stream(of) {}
    /// Its buffers go away with the caller: what gets their memory comes behind it.
    ~started() override { mark.before_at_last(stream); }
    void wait() override { mark.before(stream); }
    nccl::mark mark;
    cudaStream_t stream;
  };
  /// Memory in the order of a stream.
  class blocks_memory {
   public:
    blocks_memory(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
      nccl::check(cudaMallocAsync(&at_, bytes, stream), "cudaMallocAsync");
    }
    ~blocks_memory() { cudaFreeAsync(at_, stream_); }
    blocks_memory(blocks_memory const&) = delete;
    blocks_memory& operator=(blocks_memory const&) = delete;
    [[nodiscard]] void* get() const { return at_; }

   private:
    void* at_ = nullptr;
    cudaStream_t stream_;
  };

  [[nodiscard]] ncclComm_t comm(axis_mask axes) const { return mesh().size() == 1 ? world_ : comms_[axes & wide_]; }

  void launch(collective const& c, void const* in, void* out, cudaStream_t stream) {
    auto const type = nccl::type_of(c.type);
    auto const bytes = static_cast<std::size_t>(bytes_of(c.type));
    int const p = static_cast<int>(group_size(c.axes)), me = mesh().index_within(rank(), c.axes);
    switch (c.kind) {
      case collective_kind::all_reduce:
        if (c.op == combine::sum && c.type != element::boolean)
          return nccl::check(ncclAllReduce(in, out, c.count, type, ncclSum, comm(c.axes), stream), "ncclAllReduce");
        return from_blocks(c, p, in, out, stream);
      case collective_kind::reduce_scatter:
        return nccl::check(ncclReduceScatter(in, out, c.count, type, c.type == element::boolean ? ncclMax : ncclSum,
                                             comm(c.axes), stream),
                           "ncclReduceScatter");
      case collective_kind::all_gather:
        return nccl::check(ncclAllGather(in, out, c.count, type, comm(c.axes), stream), "ncclAllGather");
      case collective_kind::all_to_all:
        nccl::check(ncclGroupStart(), "ncclGroupStart");
        for (int r = 0; r < p; ++r) {
          auto const at = static_cast<std::size_t>(r);
          auto const sent = c.sends == nullptr ? c.count : c.sends[at];
          auto const received = c.receives == nullptr ? c.count : c.receives[at];
          if (sent > 0)
            nccl::check(
                ncclSend(static_cast<std::byte const*>(in) + at * c.count * bytes, sent, type, r, comm(c.axes), stream),
                "ncclSend");
          if (received > 0)
            nccl::check(
                ncclRecv(static_cast<std::byte*>(out) + at * c.count * bytes, received, type, r, comm(c.axes), stream),
                "ncclRecv");
        }
        return nccl::check(ncclGroupEnd(), "ncclGroupEnd");
      case collective_kind::permute:  // out is 0 already where nothing comes
        nccl::check(ncclGroupStart(), "ncclGroupStart");
        if (c.to != collective::nobody) nccl::check(ncclSend(in, c.count, type, c.to, world_, stream), "ncclSend");
        if (c.from != collective::nobody) nccl::check(ncclRecv(out, c.count, type, c.from, world_, stream), "ncclRecv");
        return nccl::check(ncclGroupEnd(), "ncclGroupEnd");
      case collective_kind::exclusive_sum:
        return from_blocks(c, me, in, out, stream);
    }
  }
  /// out = what the first so many ranks have.
  void from_blocks(collective const& c, int ranks, void const* in, void* out, cudaStream_t stream) {
    if (c.count == 0) return;
    auto const block = c.count * static_cast<std::size_t>(bytes_of(c.type));
    blocks_memory const all(block * group_size(c.axes), stream);
    nccl::check(ncclAllGather(in, all.get(), block, ncclUint8, comm(c.axes), stream), "ncclAllGather");
    nccl::combine_elements(stream, c.op, c.type, out, all.get(), c.count, ranks);
  }

  mpi_collectives host_;
  axis_mask wide_ = 0;  // the axes with more than one rank
  ncclComm_t world_ = nullptr;
  std::array<ncclComm_t, std::size_t{1} << static_cast<unsigned>(max_axes)> comms_{};
  cudaStream_t stream_ = nullptr, beside_ = nullptr;
  std::optional<nccl::mark> last_started_;  // behind the collective that was started last
};

}  // namespace mtf
