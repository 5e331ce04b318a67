#pragma once
// Positions that uniform numbers draw from rows: the same function on the host, where a thread has a row, and on a
// device, where a team has it.
#include <cstdint>

#include <mtf/backend/primitives/sample.hpp>
#include <mtf/kokkos/launch/team.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/kokkos/runtime/device.hpp>
#include <mtf/math/sample.hpp>

namespace mtf::kokkos {

/// The logits of a row that lie apart.
struct logits_of_row {
  float const* x;
  index step;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(index j) const { return x[j * step]; }
};

struct sample_rows_body {
  primitives::sample_rows p;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index row) const {
    index const inner = p.of.inner;
    float const* const x = p.x + row / inner * p.of.step() + row % inner;
    if (inner == 1)
      draw(team, row, math::dense_logits{x});
    else
      draw(team, row, logits_of_row{x, inner});
  }

 private:
  template <class Team, class Logits>
  KOKKOS_FUNCTION void draw(Team const& team, index row, Logits const& z) const {
    std::int32_t const drawn = math::sampled_row(team, p.of.n, z).drawn(p.each.of(p.how, row), p.uniform[row]);
    team.once([&] { p.out[row] = drawn; });
  }
};

template <class Exec>
void compute(device<Exec>& on, primitives::sample_rows const& p) {
  for_blocks_of_rows(p.name, on.exec, p.of.count(), p.of.n, sample_rows_body{p});
}

MTF_COMPILED_ONCE(device, sample_rows)

}  // namespace mtf::kokkos
