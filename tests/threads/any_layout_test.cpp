// The example's model under layouts that are values: one program, compiled once, does what each typed one does, to the
// bit and to the byte.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/threads.hpp>

#include "support/model_run.hpp"

namespace {

using namespace model_layouts;
using backend = mtf::kokkos_backend<Kokkos::Serial>;
constexpr int steps = 3;

struct observed {
  outcome of;
  std::vector<mtf::collectives::event> sent;
};

template <class Layout, class Upper>
observed observe(backend& machine) {
  observed o;
  machine.ranks().record(&o.sent);
  o.of = train<float, Layout, Upper>(machine, steps);
  machine.ranks().record(nullptr);
  return o;
}

template <mtf::fixed_string Mesh, mtf::fixed_string Rules, mtf::fixed_string Upper = "same">
void does_as_typed() {
  CAPTURE(Mesh.view());
  CAPTURE(Rules.view());
  CAPTURE(Upper.view());
  using mesh = mtf::mesh_of<Mesh>;
  constexpr bool two = Upper.view() != "same";
  using layout = mtf::layout_of<Mesh, Rules, config::batch, config::sequence, config::memory, config::d_model,
                                config::heads, config::d_head, config::d_ff, config::vocab>;
  auto const pick = [] {
    if constexpr (two)
      return static_cast<mtf::layout_of<Mesh, Upper, config::batch, config::sequence, config::memory, config::d_model,
                                        config::heads, config::d_head, config::d_ff, config::vocab>*>(nullptr);
    else
      return static_cast<void*>(nullptr);
  };
  using upper = std::remove_pointer_t<decltype(pick())>;
  mtf::rank_threads pool(mesh::size);
  pool.run(
      mesh::shape(),
      [&](mtf::collectives& ranks) {
        observed want, found;
        {
          backend machine = backend::one_of_many(ranks);
          want = observe<layout, upper>(machine);
        }
        backend machine = backend::one_of_many(ranks);
        auto const on = mtf::mesh_from(Mesh.view());
        machine.layouts().add(mtf::layout_from(on, Rules.view()));
        if (two) machine.layouts().add(mtf::layout_from(on, Upper.view()));
        found = observe<mtf::any_layout<0>, std::conditional_t<two, mtf::any_layout<1>, void>>(machine);
        CHECK(found.of.initial == want.of.initial);
        CHECK(found.of.losses == want.of.losses);
        CHECK(found.of.gradients == want.of.gradients);
        CHECK(found.of.gradient_norms == want.of.gradient_norms);
        CHECK(found.sent == want.sent);
      },
      mesh::text());
}

}  // namespace

TEST_CASE("one program under any layout") {
  does_as_typed<"one:1", "">();
  does_as_typed<"data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model">();
  does_as_typed<"seq:2;model:2", "sequence:seq;heads:model;d_ff:model;vocab:model">();
  does_as_typed<"all:2", "batch:all", "heads:all;d_ff:all;vocab:all">();
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
