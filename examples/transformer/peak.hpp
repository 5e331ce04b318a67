#pragma once
// The machine's matrix peak, against which speeds are quoted.
#include <algorithm>
#include <array>
#include <chrono>

#include <mtf/detail/value.hpp>

namespace transformer {

/// Flops a second of float matrix products of n^3 through the backend's library, all ranks at once, added up: the best
/// of a few.
template <class Backend>
double matrix_peak(Backend& machine, mtf::detail::index n = 2048) {
  mtf::detail::contraction const c{.batch = {}, .m = n, .n = n, .k = n, .a_m = n, .a_k = 1, .b_k = n, .b_n = 1, .c_m = n, .c_n = 1};
  std::array<mtf::detail::buffer<Backend>, 3> matrix;
  for (auto& m : matrix) {
    m = mtf::detail::make_buffer<float>(machine, n * n);
    machine.fill(mtf::detail::data_of<float>(m), n * n, 0.5F);
  }
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    machine.fence();
    machine.ranks().barrier();
    auto const start = std::chrono::steady_clock::now();
    machine.contract(c, static_cast<float const*>(mtf::detail::data_of<float>(matrix[0])),
                     static_cast<float const*>(mtf::detail::data_of<float>(matrix[1])), mtf::detail::data_of<float>(matrix[2]));
    machine.fence();
    machine.ranks().barrier();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, c.flops() / seconds * machine.ranks().mesh().size());
  }
  return best;
}

}  // namespace transformer
