#pragma once
// The Kokkos backend of one rank. Pointers to tensors' elements are to the execution space's memory. Work is
// asynchronous, in the order of one execution space instance. In kernels T is an element type, A the type in which T is
// computed; sums are taken in A or wider. (docs/design/backends.md, "Kernels")
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <mtf/backend/collectives.hpp>
#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/object_pool.hpp>
#include <mtf/kokkos/backend/rank.hpp>
#include <mtf/kokkos/runtime/device.hpp>
#include <mtf/kokkos/runtime/lifetime.hpp>
#include <mtf/kokkos/runtime/staging.hpp>
#if MTF_HAS_DEVICES
#include <mtf/kokkos/runtime/host_copy.hpp>
#endif

namespace mtf {

/// One rank's shards in the memory of a Kokkos execution space, computed there. `ranks` moves data between ranks and
/// outlives it.
template <class Exec = Kokkos::DefaultExecutionSpace>
class kokkos_backend : public kokkos::kokkos_rank<Exec> {
  using rank = kokkos::kokkos_rank<Exec>;
  using rank::on_;

 public:
  /// Where kernels run.
  using execution_space = Exec;

  /// Made by the thread that uses it, while Kokkos is initialized: else a user_error.
  explicit kokkos_backend(mtf::collectives& ranks) : rank(ranks, kokkos::initialized<Exec>()) {}
  kokkos_backend(mtf::collectives& ranks, Exec exec) : rank(ranks, std::move(exec)) {}
  kokkos_backend(kokkos_backend const&) = delete;
  kokkos_backend& operator=(kokkos_backend const&) = delete;
  /// Refused: a backend makes no tensors of another's. (It is tried where the place of a tensor names another.)
  template <class Other>
    requires(!std::is_same_v<Other, Exec>)
  operator kokkos_backend<Other>&() {
    static_assert(detail::never<Exec, Other>,
                  "mtf: a tensor's place names another kokkos_backend than the one that the program runs on: give "
                  "mtf::run (or mtf::run_threads) and mtf::place the same one");
    throw;  // never reached
  }
  /// Its tensors are gone before it. One that is not would give its memory back to nobody: the program ends here, with
  /// a sentence and exit code 2. So it does if a part of a step's work is lost that nothing has asked for since.
  ~kokkos_backend() {
    bool const unwinding = std::uncaught_exceptions() > 0;
    try {
      this->launch_all();
    } catch (std::exception const& e) {
      if (!unwinding) kokkos::ends_at(e.what());
    }
    if (on_.memory.use().live > 0 && !unwinding)
      kokkos::ends_at(
          "mtf: a tensor outlives the backend that it was made on: declare it inside of what mtf::run calls, behind "
          "the backend");
  }
#if defined(KOKKOS_ENABLE_SERIAL)
  /// The backend of a rank that is one of many threads of a process, made by that thread: with an execution space
  /// instance of its own. For Kokkos::Serial, whatever the default execution space is.
  static kokkos_backend one_of_many(mtf::collectives& ranks)
    requires std::is_constructible_v<Exec, Kokkos::NewInstance>
  {
    return kokkos_backend(ranks, Exec(Kokkos::NewInstance{}));
  }
#endif

  /// Kokkos is initialized from the first of these on until the program's end, unless the program has initialized it
  /// itself: the first object of main(). Kokkos' warnings are off, unless
  /// KOKKOS_DISABLE_WARNINGS=0 or --kokkos-disable-warnings=0 is given: otherwise each rank would advise the user to
  /// set OMP_PROC_BIND, which is not needed, as mpirun binds ranks to cores. (The library cannot set it, as OpenMP
  /// reads it before main() begins.)
  class session {
   public:
    session(int& argc, char** argv) { kokkos::initialize_once(argc, argv); }
    session(session const&) = delete;
    session& operator=(session const&) = delete;
  };

  /// Tensors on it have elements; mtf::trace is the backend of which that is not true. Where it is the host, files are
  /// read and written in place.
  static constexpr bool holds_data = true;
  static constexpr bool memory_is_the_hosts = std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

  // Memory ------------------------------------------------------------------------------------------------------------

  /// What memory() returns.
  using memory_use = mtf::memory_use;
  /// A block of at least `bytes`, aligned to 64 bytes.
  void* allocate(std::size_t bytes) { return on_.memory.allocate(bytes); }
  /// The block may be handed out again at once; work already launched still finds it intact.
  void release(void* p, std::size_t bytes) noexcept { on_.memory.release(p, bytes); }
  /// Memory for the library's own objects on the host.
  backend::object_pool& objects() { return objects_; }
  /// The layouts that any_layout stands for.
  backend::layout_table& layouts() { return layouts_; }
  /// The memory that tensors have taken so far.
  [[nodiscard]] memory_use memory() const { return on_.memory.use(); }
  /// From now on `peak` counts anew.
  void reset_peak() { on_.memory.reset_peak(); }

  /// Both return when the data has arrived.
  void to_host(void* host, void const* from, std::size_t bytes) {
    this->launch_all();
    kokkos::to_host(on_.exec, host, from, bytes);
  }
  void from_host(void* to, void const* host, std::size_t bytes) {
    this->launch_all();
    kokkos::from_host(on_.exec, to, host, bytes);
  }
#if MTF_HAS_DEVICES
  /// A copy that is under way when this returns; it is done before work that is asked for later.
  auto start_to_host(void const* from, std::size_t bytes)
    requires kokkos::has_events<Exec>
  {
    this->launch_all();
    return kokkos::host_copy<Exec>(on_.exec, rank::staging_, from, bytes);
  }
#endif

 private:
  backend::object_pool objects_;
  backend::layout_table layouts_{backend::most_bytes_of_works};
};

}  // namespace mtf
