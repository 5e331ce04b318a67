#pragma once
// Numbers that a program finds on one rank, and under a layout, typed and by value: they agree.
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "ranks_as_threads.hpp"

namespace tests {

using results = std::vector<std::vector<double>>;

inline void check_close(results const& found, results const& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    REQUIRE(found[i].size() == expected[i].size());
    for (std::size_t j = 0; j < found[i].size(); ++j)
      CHECK(found[i][j] == doctest::Approx(expected[i][j]).epsilon(1e-10));
  }
}

/// program(machine, layout): calls it on each rank of the mesh "p:2;q:2", with a null pointer to the layout that the
/// rules name, and to any_layout.
template <mtf::fixed_string Rules, class... Dims, class Program>
void on_ranks_under(Program const& program) {
  CAPTURE(Rules.view());
  using layout = mtf::layout_of<"p:2;q:2", Rules, Dims...>;
  on_ranks_of<typename layout::mesh_type>([&](thread_backend& b) { program(b, static_cast<layout const*>(nullptr)); });
  on_ranks_of<typename layout::mesh_type>([&](thread_backend& b) {
    b.layouts().add(mtf::layout_from<Dims...>(mtf::mesh_from("p:2;q:2"), Rules.view()));
    program(b, static_cast<mtf::any_layout<> const*>(nullptr));
  });
}

}  // namespace tests
