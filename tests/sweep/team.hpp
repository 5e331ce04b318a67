#pragma once
// The ranks of a mesh as threads of this process, each with a Kokkos execution space of its own.
#include <exception>
#include <string>
#include <vector>

#include <mtf/threads.hpp>

#include "typed.hpp"

namespace sweep {

class team {
 public:
  team() {
    for (int r = 0; r < most_ranks; ++r) spaces_.emplace_back(Kokkos::NewInstance{});
  }
  /// Calls f(rank, backend) on every rank; the text of the first exception, if there was one.
  template <class F>
  std::string run(mesh_code const& m, F const& f) {
    mtf::mesh_shape s{.ndim = m.axes, .node_axes = m.inside_node};
    for (std::size_t x = 0; x < static_cast<std::size_t>(m.axes); ++x) s.extent[x] = m.size[x];
    auto const ended = pool_.try_run(s, [&](mtf::collectives& ranks) {
      backend on(ranks, spaces_[static_cast<std::size_t>(ranks.rank())]);
      f(ranks.rank(), on);
    });
    if (ended.first < 0) return {};
    try {
      std::rethrow_exception(ended.errors[static_cast<std::size_t>(ended.first)]);
    } catch (std::exception const& x) {
      return "rank " + std::to_string(ended.first) + ": " + x.what();
    }
  }

 private:
  static constexpr int most_ranks = 8;
  mtf::rank_threads pool_{most_ranks};
  std::vector<Kokkos::Serial> spaces_;
};

}  // namespace sweep
