#pragma once
// The Kokkos backend's part for profilers and for the other ranks: scopes, primitives under a timer, collectives on
// device memory.
#include <array>
#include <cstddef>
#include <utility>

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/profile.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/watch.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/kokkos/gemm/contract.hpp>
#include <mtf/kokkos/runtime/all_finite.hpp>
#include <mtf/kokkos/runtime/device.hpp>
#include <mtf/kokkos/runtime/lifetime.hpp>
#include <mtf/kokkos/runtime/staging.hpp>
#include <mtf/kokkos/runtime/timed.hpp>

namespace mtf::kokkos {

template <class Exec>
class kokkos_rank {
 public:
  collectives& ranks() { return *ranks_; }
  static constexpr bool on_host = host_accessible<Exec>;
  void fence() { on_.exec.fence("mtf::fence"); }

  // The operation in progress, for profilers: a region with its name

  void enter(operation_label const& what, sharding const&) {
    if (this_thread() != thread_) used_by_another_thread();
    Kokkos::Profiling::pushRegion(what.name != nullptr ? what.name : "mtf::completion");
    ranks_->enter(what.name);
    if (profile_ != nullptr) profile_->enter(what.name);
    if (watch_ != nullptr) watch_->enter(what.name);
  }
  void leave() {
    if (watch_ != nullptr) watch_->leave();
    if (profile_ != nullptr) profile_->leave();
    ranks_->leave();
    Kokkos::Profiling::popRegion();
  }
  pass change(pass p) { return std::exchange(pass_, p); }
  /// From now on the time of every primitive is added to `to`; null: no longer. To be called between operations.
  void profile(profile_table* to) { profile_ = to; }
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
  [[nodiscard]] bool all_finite(index n, T const* x) const {
    return kokkos::all_finite(on_.exec, n, x);
  }

  /// Does a primitive: the `compute` that takes it, in the namespace mtf::kokkos. Asynchronous, in the order of the
  /// execution space instance.
  template <primitive P>
  void run(P const& p) {
    bool const profiled = profile_ != nullptr;
    timed<Exec> const noted(profile_, on_.exec, pass_, primitives::limit_of<P>, profiled ? primitives::flops_of(p) : 0,
                            profiled ? p.bytes() : 0);
    compute(on_, p);
  }

  // Collectives on device memory: as in class collectives. In groups of one rank they are copies, and not counted

  /// True: MPI reads and writes device memory itself. False: data goes through pinned host memory.
  bool device_aware = device_aware_by_default;

  template <class T>
  void all_reduce(axis_mask axes, combine op, T const* in, T* out, std::size_t count) {
    if (alone(axes, in, out, count)) return;
    Kokkos::Profiling::ScopedRegion const region("mtf::all_reduce");
    auto const noted = sending(mtf::bytes_sent(collective::all_reduce, count * sizeof(T), size(axes)));
    moved(in, count, out, count, [&](T const* i, T* o) { ranks_->all_reduce(axes, op, element_of<T>, i, o, count); });
  }
  using request = mtf::collectives::handle;
  template <class T>
  request start_all_reduce(axis_mask axes, combine op, T const* in, T* out, std::size_t count) {
    if (alone(axes, in, out, count)) return {};
    if (!on_host && !device_aware) {
      all_reduce(axes, op, in, out, count);
      return {};
    }
    Kokkos::Profiling::ScopedRegion const region("mtf::all_reduce");
    auto const noted = sending(mtf::bytes_sent(collective::all_reduce, count * sizeof(T), size(axes)));
    fence();
    return ranks_->start_all_reduce(axes, op, element_of<T>, in, out, count);
  }
  void wait(request const& r) {
    if (!r) return;
    Kokkos::Profiling::ScopedRegion const region("mtf::wait");
    auto const noted = sending(0);
    r->wait();
  }
  template <class T>
  request start_reduce_scatter(axis_mask axes, T const* in, T* out, std::size_t count) {
    if (alone(axes, in, out, count)) return {};
    if (!on_host && !device_aware) {
      reduce_scatter(axes, in, out, count);
      return {};
    }
    Kokkos::Profiling::ScopedRegion const region("mtf::reduce_scatter");
    auto const noted =
        sending(mtf::bytes_sent(collective::reduce_scatter, count * group(axes) * sizeof(T), size(axes)));
    fence();
    return ranks_->start_reduce_scatter(axes, element_of<T>, in, out, count);
  }
  template <class T>
  void reduce_scatter(axis_mask axes, T const* in, T* out, std::size_t count) {
    if (alone(axes, in, out, count)) return;
    Kokkos::Profiling::ScopedRegion const region("mtf::reduce_scatter");
    auto const noted =
        sending(mtf::bytes_sent(collective::reduce_scatter, count * group(axes) * sizeof(T), size(axes)));
    moved(in, count * group(axes), out, count,
          [&](T const* i, T* o) { ranks_->reduce_scatter(axes, element_of<T>, i, o, count); });
  }
  template <class T>
  void all_gather(axis_mask axes, T const* in, T* out, std::size_t count) {
    if (alone(axes, in, out, count)) return;
    Kokkos::Profiling::ScopedRegion const region("mtf::all_gather");
    auto const noted = sending(mtf::bytes_sent(collective::all_gather, count * sizeof(T), size(axes)));
    moved(in, count, out, count * group(axes),
          [&](T const* i, T* o) { ranks_->all_gather(axes, element_of<T>, i, o, count); });
  }
  template <class T>
  void all_to_all(axis_mask axes, T const* in, T* out, std::size_t count) {
    if (alone(axes, in, out, count)) return;
    Kokkos::Profiling::ScopedRegion const region("mtf::all_to_all");
    auto const noted = sending(mtf::bytes_sent(collective::all_to_all, count * group(axes) * sizeof(T), size(axes)));
    moved(in, count * group(axes), out, count * group(axes),
          [&](T const* i, T* o) { ranks_->all_to_all(axes, element_of<T>, i, o, count); });
  }
  template <class T>
  void permute(axis_mask axes, T const* in, T* out, std::size_t count, int to, int from) {
    if (alone(axes, in, out, count)) return;
    Kokkos::Profiling::ScopedRegion const region("mtf::permute");
    auto const noted = sending(count * sizeof(T));
    moved(in, count, out, count,
          [&](T const* i, T* o) { ranks_->permute(axes, element_of<T>, i, o, count, to, from); });
  }

 protected:
  kokkos_rank(collectives& ranks, Exec exec) : ranks_(&ranks), on_{{std::move(exec)}, {}} {}

  template <class Count>
  [[nodiscard]] timed<Exec> sending(Count bytes) const {
    return {profile_, on_.exec, pass_, limit::network, 0, static_cast<double>(bytes)};
  }

  collectives* ranks_;
  void const* thread_ = this_thread();
  pass pass_ = pass::forward;
  profile_table* profile_ = nullptr;
  result_watch* watch_ = nullptr;
  resources<Exec> on_;

 private:
  [[nodiscard]] int size(axis_mask axes) const { return ranks_->mesh().size(axes); }
  [[nodiscard]] std::size_t group(axis_mask axes) const { return static_cast<std::size_t>(size(axes)); }

  template <class T>
  bool alone(axis_mask axes, T const* in, T* out, std::size_t count) {
    if (size(axes) > 1) return false;
    if (in != out) copy_bytes(on_.exec, out, in, count * sizeof(T));
    return true;
  }

  /// Calls `collective` with pointers that MPI can read and write.
  template <class T, class Collective>
  void moved(T const* in, std::size_t in_count, T* out, std::size_t out_count, Collective const& collective) {
    fence();
    if (on_host || device_aware)
      collective(in, out);
    else
      staged(on_.exec, staging_, in, in_count, out, out_count, collective);
  }

  staging_memory<Exec> staging_;
};

}  // namespace mtf::kokkos
