// Optimizers of ranks that are threads.
// compilers: first
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/threads.hpp>

#include "../support/clip_checks.hpp"
#include "../support/optimizer_checks.hpp"

namespace {

using namespace optimizer_checks;
using backend = mtf::kokkos_backend<Kokkos::Serial>;

template <class T, mtf::fixed_string Mesh, mtf::fixed_string Rules>
void between_threads() {
  using mesh = mtf::mesh_of<Mesh>;
  mtf::rank_threads pool(mesh::size);
  pool.run(
      mesh::shape(),
      [&](mtf::collectives& ranks) {
        backend machine = backend::one_of_many(ranks);
        follow_plain_loops<T, mtf::layout_of<Mesh, Rules, batch, in, wide>>(machine);
      },
      mesh::text());
}

template <mtf::fixed_string Mesh, mtf::fixed_string Rules, class Split>
void clip_between_threads() {
  using mesh = mtf::mesh_of<Mesh>;
  mtf::rank_threads pool(mesh::size);
  pool.run(
      mesh::shape(),
      [&](mtf::collectives& ranks) {
        backend machine = backend::one_of_many(ranks);
        clip_checks::all_clip_and_skip<float, mtf::layout_of<Mesh, Rules, batch, in, wide>, Split>(machine);
      },
      mesh::text());
}

}  // namespace

TEST_CASE("threads clip, and leave out what is not finite") {
  clip_between_threads<"data:2;model:2", "batch:data;wide:model", mtf::state_split_over<batch>>();
  clip_between_threads<"data:2;model:2", "batch:data;wide:model", mtf::state_split_over<>>();
}

TEST_CASE("updates between threads equal plain loops") {
  between_threads<float, "data:2;model:2", "batch:data;wide:model">();
  between_threads<mtf::bfloat16, "data:2;model:2", "batch:data;wide:model">();
  between_threads<mtf::bfloat16, "data:4", "batch:data">();
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
