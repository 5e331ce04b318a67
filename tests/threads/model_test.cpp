// 64 ranks in one process: the example's model, small, trains under a mesh of 4 x 4 x 4 like on one rank.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/threads.hpp>

#include "support/model_run.hpp"

namespace {

using namespace model_layouts;
using backend = mtf::kokkos_backend<Kokkos::Serial>;
constexpr int steps = 5;

constexpr mtf::fixed_string mesh_words = "data:4;seq:4;model:4";
using mesh = mtf::mesh_of<mesh_words>;
using layout = mtf::layout_of<mesh_words, "batch:data;sequence:seq;heads:model;d_ff:model;vocab:model", config::batch,
                              config::sequence, config::memory, config::d_model, config::heads, config::d_head,
                              config::d_ff, config::vocab>;

}  // namespace

TEST_CASE("64 ranks train like one") {
  mtf::single_rank one;
  backend alone(one);
  auto const want = train<float, mtf::layout<mtf::mesh<>>, void>(alone, steps);

  mtf::rank_threads pool(mesh::size);
  pool.run(
      mesh::shape(),
      [&](mtf::collectives& ranks) {
        backend machine = backend::one_of_many(ranks);
        auto const found = train<float, layout, void>(machine, steps);
        CHECK(found.initial == want.initial);  // to the bit
        REQUIRE(found.losses.size() == steps);
        for (std::size_t i = 0; i < steps; ++i) {
          CHECK(found.losses[i] == doctest::Approx(want.losses[i]).epsilon(1e-4));
          CHECK(found.gradient_norms[i] == doctest::Approx(want.gradient_norms[i]).epsilon(1e-3));
        }
      },
      mesh::text());
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
