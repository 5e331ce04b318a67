// The models' losses without whole logits are those with them, values and gradients, and a plan of them needs less
// memory.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/threads.hpp>

#include "../models/common/loss_in_chunks.hpp"
#include "../models/gpt2/config.hpp"
#include "../models/gpt2/model.hpp"
#include "../models/llama/config.hpp"
#include "../models/llama/model.hpp"

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;
using place = mtf::place<double, mtf::any_layout<0>, backend>;

template <class Model>
struct whole {
  constexpr auto operator()(auto const& p, auto const& ids, auto const& labels) const {
    return Model::loss(p, ids, labels);
  }
};
template <class Model>
struct in_chunks {
  constexpr auto operator()(auto const& p, auto const& ids, auto const& labels) const {
    return mtf::models::loss_in_chunks<Model>(p, ids, labels);
  }
};

template <class Gradients>
std::vector<double> elements(Gradients const& gradients) {
  std::vector<double> all;
  mtf::for_each_tensor(
      [&](auto, auto const& g) {
        for (double const e : g.complete().local()) all.push_back(e);
      },
      gradients);
  return all;
}

template <class Model>
void agree(char const* mesh, char const* rules, std::int64_t untied) {
  CAPTURE(mesh);
  CAPTURE(rules);
  auto const layout = mtf::layout_from(mtf::mesh_from(mesh), rules);
  auto sizes = Model::default_sizes();
  for (auto const& [name, extent] : {std::pair{"batch", 4}, {"sequence", 64}, {"d_model", 16}, {"layers", 1}})
    sizes.give(name, extent);
  sizes.give("untied_output", untied);
  sizes = Model::extents_from(sizes);
  mtf::rank_threads pool(layout.mesh.shape.size());
  pool.run(layout.mesh.shape, [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    machine.layouts().add(layout);
    machine.layouts().give(sizes);
    auto const p =
        Model::template initial<typename Model::template parameters<place::tensor>>(machine, mtf::random_key(1));
    using tokens =
        typename place::rebound<std::int32_t>::template tensor<typename Model::batch, typename Model::sequence>;
    auto const drawn = [&](int seed) {
      auto const numbers =
          mtf::random_uniform<typename place::template tensor<typename Model::batch, typename Model::sequence>>(
              machine, mtf::random_key(static_cast<std::uint64_t>(seed)), 0, 250);
      return tokens(mtf::cast<std::int32_t>(numbers));
    };
    auto const ids = drawn(2), labels = drawn(3) - 20;  // some are below 0: of these there is no loss
    auto const want = mtf::value_and_grad(whole<Model>{})(p, ids, labels);
    auto const found = mtf::value_and_grad(in_chunks<Model>{})(p, ids, labels);
    CHECK(mtf::item(found.value) == doctest::Approx(mtf::item(want.value)).epsilon(1e-12));
    auto const g = elements(found.gradients), expected = elements(want.gradients);
    REQUIRE(g.size() == expected.size());
    double apart = 0;
    for (std::size_t i = 0; i < g.size(); ++i) apart = std::max(apart, std::abs(g[i] - expected[i]));
    CHECK(apart < 1e-12);
  });
  auto const peak = [&](auto const& f) {
    using batch = mtf::input<std::int32_t, typename Model::batch, typename Model::sequence>;
    return mtf::plan_under(f, layout, sizes, mtf::parameters<Model::template parameters, float>{}, batch{}, batch{})
        .peak_bytes;
  };
  CHECK(peak(in_chunks<Model>{}) < peak(whole<Model>{}));
}

TEST_CASE("a GPT-2's and a Llama's loss in chunks is their loss") {
  using gpt2 = mtf::gpt2::model<mtf::gpt2::any_sizes>;
  using llama = mtf::llama::model<mtf::llama::any_sizes>;
  for (std::int64_t const untied : {0, 1}) {
    agree<gpt2>("one:1", "", untied);
    agree<gpt2>("data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model", untied);
    agree<llama>("data:2;model:2", "batch:data;kv_heads:model;d_ff:model;vocab:model", untied);
  }
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
