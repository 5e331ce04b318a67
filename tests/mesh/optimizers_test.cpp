// ranks: 2 4
// Optimizers between processes, with gradients completed by MPI and through shared memory.
#include "mpi_main.hpp"

#include "../support/optimizer_checks.hpp"

namespace {

using namespace optimizer_checks;
using backend = mtf::kokkos_backend<>;

template <class T, mtf::fixed_string Mesh, mtf::fixed_string Rules>
void between_processes() {
  using mesh = mtf::mesh_of<Mesh>;
  if (mpi_main::ranks() != mesh::size) return;
  for (bool const shared : {false, true}) {
    CAPTURE(shared);
    mtf::mpi_collectives ranks(mesh::shape(), mesh::text(), {.shared_memory = shared});
    backend machine(ranks);
    follow_plain_loops<T, mtf::layout_of<Mesh, Rules, batch, in, wide>>(machine);
  }
}

TEST_CASE("updates between processes equal plain loops") {
  between_processes<float, "data:2", "batch:data">();
  between_processes<mtf::bfloat16, "data:2", "batch:data">();
  between_processes<mtf::bfloat16, "data:4", "batch:data">();
}

}  // namespace
