#pragma once
// When Kokkos begins and ends, and what is wrong outside of that.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include <Kokkos_Core.hpp>
#include <mtf/core/error.hpp>

namespace mtf::kokkos {

/// Kokkos' OpenMP takes no more threads: it would read beyond an array.
inline void check_thread_count() {
#if defined(KOKKOS_ENABLE_OPENMP)
  constexpr long most = 512;
  for (char const* name : {"OMP_NUM_THREADS", "KOKKOS_NUM_THREADS"})
    if (char const* const asked = std::getenv(name); asked != nullptr && std::strtol(asked, nullptr, 10) > most)
      throw user_error(std::string(name) + " is " + asked + ", but Kokkos takes at most " + std::to_string(most) +
                       " threads: set it to the number of a rank's cores");
#endif
}

/// Initializes Kokkos, unless it is; then it is finalized when the program ends. So several runs in one program, one
/// after the other, inside of each other or at once, find it.
inline void initialize_once(int& argc, char** argv) {
  static std::mutex once;
  std::scoped_lock const lock(once);
  if (Kokkos::is_initialized()) return;
  if (Kokkos::is_finalized())
    throw user_error("Kokkos was finalized before, and cannot be initialized twice: finalize it at the end of main()");
  check_thread_count();
  ::setenv("KOKKOS_DISABLE_WARNINGS", "1", 0);
  Kokkos::initialize(argc, argv);
  std::atexit([] {
    if (Kokkos::is_initialized()) Kokkos::finalize();
  });
}

/// An execution space instance, where there may be one.
template <class Exec>
Exec initialized() {
  if (!Kokkos::is_initialized())
    throw user_error(
        "a kokkos_backend is made while Kokkos is not initialized: make it in mtf::run or mtf::run_threads, or behind "
        "a "
        "kokkos_backend<>::session, the first object of main()");
  return Exec{};
}

[[noreturn]] inline void used_by_another_thread() {
  throw user_error(
      "an operation runs on a backend in another thread than the one that made it: a backend is one rank's, and a rank "
      "one thread; make a backend in each thread, as mtf::run_threads does");
}

/// Where nothing may be thrown.
[[noreturn]] inline void ends_at(char const* sentence) {
  std::fprintf(stderr, "%s\n", sentence);
  std::fflush(nullptr);
  std::_Exit(2);
}

/// A number of the calling thread.
inline void const* this_thread() {
  static thread_local char here = 0;
  return &here;
}

}  // namespace mtf::kokkos
