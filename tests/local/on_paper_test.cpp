// The memory of a training step: the plan is what is counted on paper, without recomputation and with it. (That the run
// is what was planned: tests/threads/memory_test.cpp.)
// devices: none
#include <array>
#include <cstdint>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>

#include "../../benchmarks/train-step/config.hpp"
#include "../../benchmarks/train-step/on_paper.hpp"
#include "../../models/gpt2/config.hpp"
#include "../../models/gpt2/model.hpp"
namespace gpt2 {  // each has a struct `config`
#include "../../benchmarks/train-step/gpt2.hpp"
}  // namespace gpt2

namespace {

/// Of the model with the sizes C, under the layout Rules of Mesh.
template <class C, class T, mtf::fixed_string Mesh, mtf::fixed_string Rules>
void as_on_paper() {
  using model = mtf::gpt2::model<C>;
  using split = mtf::state_split_over<typename C::batch, typename C::sequence>;
  using layout =
      mtf::layout_of<Mesh, Rules, typename C::batch, typename C::sequence, typename C::memory, typename C::d_model,
                     typename C::heads, typename C::d_head, typename C::d_ff, typename C::vocab>;
  constexpr mtf::parameters<model::template parameters, T> parameters;
  constexpr mtf::input<std::int32_t, typename C::batch, typename C::sequence> tokens;
  std::array<double, 2> planned{};
  for (bool const recompute : {false, true}) {
    CAPTURE(recompute);
    auto const f = [recompute](auto const& p, auto const& ids, auto const& labels) {
      return model::loss(p, ids, labels, {}, model::recomputed_if(recompute));
    };
    auto const plan = mtf::plan_under<mtf::completed_gradients::overlapped, split, mtf::updated_by<mtf::adamw>>(
        f, mtf::value_of<layout>, parameters, tokens, tokens);
    double const bytes = static_cast<double>(plan.peak_bytes);
    CHECK(bytes == doctest::Approx(bytes_on_paper<model, C, T, layout, split>(recompute)).epsilon(0.02));
    planned[recompute ? 1 : 0] = bytes;
  }
  CHECK(planned[1] <= planned[0]);
}

}  // namespace

TEST_CASE("memory is what is counted on paper: in float") {
  as_on_paper<config, float, "one:1", "">();
  as_on_paper<config, float, "data:2", "batch:data">();
  as_on_paper<config, float, "model:2", "heads:model;d_ff:model;vocab:model">();
  as_on_paper<gpt2::config, float, "one:1", "">();
}
TEST_CASE("memory is what is counted on paper: in mixed precision") {
  as_on_paper<config, mtf::mixed_bfloat16, "one:1", "">();
}
