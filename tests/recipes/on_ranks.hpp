#pragma once
// What the recipes' tests share: ranks as threads, inside a test.
#include <doctest/doctest.h>

#include <vector>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

namespace recipes {

using backend = mtf::kokkos_backend<Kokkos::Serial>;

/// Calls f(machine) on all ranks of the layout's mesh. As mtf::run_threads does, but many times in one process, and
/// what a rank throws is thrown here.
template <class Layout, class F>
void on_ranks(F const& f) {
  using mesh = typename Layout::mesh_type;
  mtf::rank_threads pool(mesh::size);
  pool.run(
      mesh::shape(),
      [&](mtf::collectives& ranks) {
        backend machine = backend::one_of_many(ranks);
        f(machine);
      },
      mesh::text());
}

/// Random numbers, alike on all ranks.
template <class X>
X random(backend& machine, char const* name) {
  return mtf::random_normal<X>(machine, mtf::random_key(7).of(name));
}

template <class T>
void check_close(std::vector<T> const& found, std::vector<T> const& want, double tolerance) {
  REQUIRE(found.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == doctest::Approx(want[i]).epsilon(tolerance).scale(1));
  }
}

}  // namespace recipes
