#pragma once
// The Kokkos backend's part for profilers and for the other ranks: scopes, primitives under a timer, collectives on
// device memory.
#include <array>
#include <cstddef>
#include <utility>

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/profile.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/watch.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/kokkos/gemm/contract.hpp>
#include <mtf/kokkos/runtime/all_finite.hpp>
#include <mtf/kokkos/runtime/device.hpp>
#include <mtf/kokkos/runtime/lifetime.hpp>
#include <mtf/kokkos/runtime/staging.hpp>
#include <mtf/kokkos/runtime/step_graph.hpp>
#include <mtf/kokkos/runtime/timed.hpp>

namespace mtf::kokkos {

template <class Exec>
class kokkos_rank {
  using timed = typename profiling<Exec>::call;

 public:
  collectives& ranks() { return *ranks_; }
  static constexpr bool on_host = host_accessible<Exec>;
  void fence() {
    launch_all();
    on_.exec.fence("mtf::fence");
  }

  // The operation in progress, for profilers: a region with its name

  void enter(operation_label const& what, sharding const&) {
    if (this_thread() != thread_) used_by_another_thread();
    Kokkos::Profiling::pushRegion(what.name != nullptr ? what.name : "mtf::completion");
    ranks_->enter(what.name);
    if (profiling_.table() != nullptr) profiling_.table()->enter(what.name);
    if (watch_ != nullptr) watch_->enter(what.name);
  }
  void leave() {
    if (watch_ != nullptr) watch_->leave();
    if (profiling_.table() != nullptr) profiling_.table()->leave();
    ranks_->leave();
    Kokkos::Profiling::popRegion();
  }
  pass change(pass p) { return std::exchange(pass_, p); }
  /// From now on the time of every primitive is added to `to`; null: no longer. To be called between operations.
  void profile(profile_table* to) {
    launch_all();
    profiling_.into(to, on_.exec);
  }
  /// From now on `with` looks at every result of an operation; null: no longer. To be called between operations.
  void watch(result_watch* with) { watch_ = with; }
  /// The operation in progress has made this shard of a tensor with the sharding `where`.
  template <class T>
  void made(T const* x, sharding const& where) {
    if constexpr (is_floating<T>)
      if (watch_ != nullptr && !watch_->found())
        watch_->made(pass_, where, all_finite(where.local_size(ranks_->mesh()), x));
  }
  template <class T>
  [[nodiscard]] bool all_finite(index n, T const* x) {
    launch_all();
    return kokkos::all_finite(on_.exec, n, x);
  }

  /// Does a primitive: the `compute` that takes it, in the namespace mtf::kokkos. Asynchronous, in the order of the
  /// execution space instance. (On a device some are noted, and launched with others: launch/batch.hpp. Not under a
  /// profile, where each has its own time.)
  template <primitive P>
  void run(P const& p) {
    if constexpr (has_graphs<Exec>)
      if (may_record()) graph_.record();
    if constexpr (!runs_on_host<Exec>) {
      if constexpr (requires { note(on_.noted, on_, p); })
        if (profiling_.table() == nullptr && note(on_.noted, on_, p)) return;
      launch_noted();
    }
    bool const profiled = profiling_.table() != nullptr;
    timed const noted(&profiling_, on_.exec, pass_, primitives::limit_of<P>, profiled ? primitives::flops_of(p) : 0,
                      profiled ? p.bytes() : 0);
    compute(on_, p);
  }

  // Collectives on device memory: as in class collectives. In groups of one rank they are copies, and not counted

  void communicate(collective const& c, void const* in, void* out) {
    launch_noted();
    if (alone(c, in, out)) return;
    launch_all();
    auto const noted = sending(c);
    if (direct()) {
      begin(c, out);
      ranks_->communicate(placed(c), in, out);
    } else {
      fence();
      auto const p = size(c.axes);
      auto const each = static_cast<std::size_t>(bytes_of(c.type));
      staged(on_.exec, staging_, in, c.elements_in(p) * each, out, c.elements_out(p) * each, c.sends != nullptr,
             [&](void const* i, void* o) { ranks_->communicate(c, i, o); });
    }
  }
  using request = mtf::collectives::handle;
  request start(collective const& c, void const* in, void* out) {
    launch_noted();
    if (alone(c, in, out)) return {};
    if (!direct()) {
      communicate(c, in, out);
      return {};
    }
    launch_all();
    auto const noted = sending(c);
    begin(c, out);
    if constexpr (has_graphs<Exec>) ++started_;
    return ranks_->start(placed(c), in, out);
  }
  void wait(request const& r) {
    if (!r) return;
    launch_all();
    Kokkos::Profiling::ScopedRegion const region("mtf::wait");
    auto const noted = timed_sending(0);
    r.wait();
    if constexpr (has_graphs<Exec>) --started_;
  }

  // Graphs

  /// From now on, or no longer, the work of a step is launched as CUDA graphs (docs/design/backends.md, "A step as
  /// graphs"); no other backend uses the device during a step then. Refused where there are none: not on CUDA, and with
  /// collectives that are put onto its stream. To be called between steps.
  void graphs(bool on) {
    if constexpr (has_graphs<Exec>) {
      if (on && on_stream_)
        throw user_error(
            "graphs: these collectives are put onto the device's stream, as NCCL's are, and no graph has them");
      launch_all();
      graph_.turn(on);
    } else if (on) {
      throw user_error("graphs: the work of a step can be graphs on CUDA only");
    }
  }
  /// A training step begins, or is over: backend::step calls both.
  void begin_step() noexcept {
    if constexpr (has_graphs<Exec>) graph_.begin_step();
  }
  void end_step() noexcept {
    if constexpr (has_graphs<Exec>) graph_.end_step();
  }
  /// How many graphs were `launched` so far: those `instantiated` for it, and the executables that were `updated`.
  [[nodiscard]] auto graph_counts() const { return graph_.counts(); }

 protected:
  kokkos_rank(collectives& ranks, Exec exec)
      : ranks_(&ranks),
        on_(std::move(exec)),
        on_stream_(ranks.on_stream(stream_of(on_.exec))),
        graph_(on_.exec, ranks.rank() == 0) {
    if constexpr (!runs_on_host<Exec>)
      on_.memory.before_giving_back([](void* rank) { static_cast<kokkos_rank*>(rank)->launch_all(); }, this);
  }

  /// Work that was noted goes before what follows.
  void launch_noted() {
    if constexpr (!runs_on_host<Exec>) on_.noted.launch(on_);
  }
  /// The same, and when this returns all of it is in the stream: to be called before anything but a kernel uses that.
  void launch_all() {
    launch_noted();
    if constexpr (has_graphs<Exec>) graph_.flush();
  }

  collectives* ranks_;
  void const* thread_ = this_thread();
  pass pass_ = pass::forward;
  profiling<Exec> profiling_;
  result_watch* watch_ = nullptr;
  resources<Exec> on_;
  bool on_stream_;  // the ranks put collectives behind the work that is there
  staging_memory<Exec> staging_;
  [[no_unique_address]] step_graph<Exec> graph_;

 private:
  /// Not where each kernel's time or result is looked at, nor while a started collective may use the device.
  [[nodiscard]] bool may_record() const {
    return profiling_.table() == nullptr && watch_ == nullptr && started_ == 0 &&
           !Kokkos::Tools::profileLibraryLoaded();
  }
  [[nodiscard]] int size(axis_mask axes) const { return ranks_->mesh().size(axes); }
  /// Whether the ranks read and write this memory themselves; else what is sent goes through pinned memory of the host.
  [[nodiscard]] bool direct() const { return on_host || ranks_->takes_device_memory(); }

  [[nodiscard]] timed timed_sending(double bytes) { return {&profiling_, on_.exec, pass_, limit::network, 0, bytes}; }
  /// For profilers and the profile.
  struct noted_sending {
    Kokkos::Profiling::ScopedRegion region;
    timed time;
  };
  [[nodiscard]] noted_sending sending(collective const& c) {
    constexpr std::array<char const*, collective_kinds.size()> labels{"mtf::all_reduce", "mtf::reduce_scatter",
                                                                      "mtf::all_gather", "mtf::all_to_all",
                                                                      "mtf::permute",    "mtf::exclusive_sum"};
    int const p = size(c.axes);
    return {Kokkos::Profiling::ScopedRegion(labels[static_cast<std::size_t>(c.kind)]),
            timed_sending(static_cast<double>(mtf::bytes_sent(c.kind, c.payload(p), p)))};
  }
  /// What is sent lies ready when this returns, or is ready by then in the order of the stream.
  void begin(collective const& c, void* out) {
    if constexpr (!on_host)
      if (c.out_is_zero(ranks_->mesh().index_within(ranks_->rank(), c.axes) == 0)) zero(c, out);
    if (!on_stream_) fence();
  }
  static collective placed(collective c) {
    c.on_device = !on_host;
    return c;
  }
  void zero(collective const& c, void* out) {
    zero_bytes(on_.exec, out, c.count * static_cast<std::size_t>(bytes_of(c.type)));
  }
  bool alone(collective const& c, void const* in, void* out) {
    if (size(c.axes) > 1) return false;
    if (in != out) copy_bytes(on_.exec, out, in, c.kept_alone() * static_cast<std::size_t>(bytes_of(c.type)));
    if (c.out_is_zero(true)) zero(c, out);
    return true;
  }

  int started_ = 0;  // collectives, and not waited for
};

}  // namespace mtf::kokkos
