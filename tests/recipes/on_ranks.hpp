#pragma once
// What the recipes' tests share: ranks as threads, inside a test.
#include <doctest/doctest.h>

#include <vector>

#include <mtf/mtf.hpp>

#include "support/ranks_as_threads.hpp"

namespace recipes {

using backend = thread_backend;

/// Calls f(machine) on all ranks of the layout's mesh.
template <class Layout, class F>
void on_ranks(F const& f) {
  on_ranks_of<typename Layout::mesh_type>(f);
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
