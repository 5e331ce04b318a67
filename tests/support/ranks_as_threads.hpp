#pragma once
// What tests on several ranks in one process share: ranks as threads.
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

using thread_backend = mtf::kokkos_backend<Kokkos::Serial>;

/// Calls f(machine) on all ranks of a mesh. As mtf::run_threads does, but many times in one process, and what a rank
/// throws is thrown here.
template <class Mesh, class F>
void on_ranks_of(F const& f) {
  mtf::rank_threads pool(Mesh::size);
  pool.run(
      Mesh::shape(),
      [&](mtf::collectives& ranks) {
        thread_backend machine = thread_backend::one_of_many(ranks);
        f(machine);
      },
      Mesh::text());
}
