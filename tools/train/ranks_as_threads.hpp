#pragma once
// train<program, ranks_as_threads>: with the option --ranks-as-threads, which is the whole program compiled once more,
// for Kokkos::Serial.
#include <mtf/kokkos.hpp>
#include <mtf/threads.hpp>

namespace mtf::tools {

/// Ranks are processes, or threads of one.
struct ranks_as_threads {
  using backend = mtf::kokkos_backend<Kokkos::Serial>;
  static constexpr bool are_threads = true;

  /// As mtf::run_threads.
  template <class Mesh, class F>
  static int run(int& argc, char**& argv, F const& f) {
    return mtf::run_threads<Mesh, backend>(argc, argv, f);
  }
  /// As mtf::run_threads_under.
  template <class Layouts, class F>
  static int run_under(int& argc, char**& argv, Layouts const& layouts, F const& f) {
    return mtf::run_threads_under<backend>(argc, argv, layouts, f);
  }
};

}  // namespace mtf::tools
