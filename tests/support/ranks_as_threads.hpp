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

/// f(backend) on all ranks of 2 x 2, under each of these layouts of the axes p and q.
template <class Rules, class F>
void under_each_layout(Rules const& rules, F const& f) {
  for (char const* const text : rules)
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2;q:2"), text));
      f(b);
    });
}
