// The example's model, which names no layout, with its sequences split over ranks: keys and values go round, and it
// trains as on one rank.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/threads.hpp>

#include "support/model_run.hpp"

namespace {

using namespace model_layouts;
using backend = mtf::kokkos_backend<Kokkos::Serial>;
constexpr int steps = 5;

constexpr mtf::fixed_string mesh_words = "data:2;seq:4";
using mesh = mtf::mesh_of<mesh_words>;
using layout =
    mtf::layout_of<mesh_words, "batch:data;sequence:seq;memory:seq", config::batch, config::sequence, config::memory,
                   config::d_model, config::heads, config::d_head, config::d_ff, config::vocab>;

}  // namespace

TEST_CASE("a model's keys and values go round") {
  mtf::single_rank one;
  backend alone(one);
  auto const want = train<double, mtf::layout<mtf::mesh<>>, void>(alone, steps);

  mtf::rank_threads pool(mesh::size);
  pool.run(
      mesh::shape(),
      [&](mtf::collectives& ranks) {
        backend machine = backend::one_of_many(ranks);
        auto const found = train<double, layout, void>(machine, steps);
        CHECK(found.initial == want.initial);  // to the bit
        REQUIRE(found.losses.size() == steps);
        for (std::size_t i = 0; i < steps; ++i) {
          CHECK(found.losses[i] == doctest::Approx(want.losses[i]).epsilon(1e-10));
          CHECK(found.gradient_norms[i] == doctest::Approx(want.gradient_norms[i]).epsilon(1e-9));
        }
        std::uint64_t permutes = 0;
        for (auto const& c : ranks.counts())
          if (c.kind == mtf::collective_kind::permute) permutes += c.calls;
        // k and v, forward and backward; halves of q and of the result, of their gradients, and of a number a query
        std::uint64_t const a_layer = 3 * 2 * (1 + 2) + 5;
        CHECK(permutes == a_layer * 2 * steps);
      },
      mesh::text());
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
