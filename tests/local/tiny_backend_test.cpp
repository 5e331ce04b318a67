// devices: none
// The contract of backends is enough: a backend in plain loops runs the example's model on one rank, and comes to the
// same loss and gradients as Kokkos.
#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/concept.hpp>
#include <mtf/kokkos.hpp>

#include "../../models/gpt2/model.hpp"
#include "support/model_config.hpp"
#include "tiny_backend.hpp"

namespace {

static_assert(mtf::computes<tiny::backend> && mtf::computes<mtf::kokkos_backend<>> && mtf::computes<mtf::trace>);
static_assert(!mtf::computes<mtf::backend::host> && !mtf::computes<mtf::single_rank>);

using config = model_config<model_sizes{.batch = 2, .sequence = 6, .d_model = 8, .heads = 2, .d_ff = 12, .vocab = 10}>;
using model = mtf::gpt2::model<config>;
using where = mtf::layout<mtf::mesh<>>;

/// The loss, then all gradients.
template <class Backend>
std::vector<float> step(Backend& b, std::vector<std::vector<float>>& initial) {
  using place = mtf::place<float, where, Backend>;
  using parameters = typename model::template parameters<place::template tensor>;
  using tokens = typename mtf::place<std::int32_t, where, Backend>::template tensor<config::batch, config::sequence>;
  parameters p;
  std::size_t i = 0;
  if constexpr (std::is_same_v<Backend, tiny::backend>)
    mtf::for_each_tensor(
        [&](auto, auto& x) { x = mtf::from_global<std::remove_cvref_t<decltype(x)>>(b, initial[i++]); }, p);
  else
    p = model::template initial<parameters>(b, mtf::random_key(3));
  if (initial.empty()) mtf::for_each_tensor([&](auto, auto const& x) { initial.push_back(mtf::to_global(x)); }, p);
  std::vector<std::int32_t> const ids{1, 7, 3, 9, 0, 2, 5, 5, 8, 4, 6, 1}, labels{7, 3, 9, 0, 2, 2, 5, 8, 4, 6, 1, 3};
  auto const f = mtf::value_and_grad([](auto const& q, auto const& x, auto const& y) { return model::loss(q, x, y); });
  auto const [loss, gradients] = f(p, mtf::from_global<tokens>(b, ids), mtf::from_global<tokens>(b, labels));
  std::vector<float> all{mtf::item(loss)};
  mtf::for_each_tensor(
      [&](auto, auto const& g) {
        auto const values = mtf::to_global(g.complete());
        all.insert(all.end(), values.begin(), values.end());
      },
      gradients);
  return all;
}

}  // namespace

TEST_CASE("a backend in plain loops runs the example's model") {
  std::vector<std::vector<float>> initial;
  mtf::single_rank one{mtf::mesh_shape{}}, other{mtf::mesh_shape{}};
  mtf::kokkos_backend<> kokkos(one);
  tiny::backend tiny_one(other);
  auto const expected = step(kokkos, initial), found = step(tiny_one, initial);
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::abs(double{found[i]} - expected[i]));
  CHECK(found[0] > 2);
  CHECK(worst < 1e-5);
}
