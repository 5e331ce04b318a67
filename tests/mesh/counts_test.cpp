// ranks: 2
// What the example's model sends: Megatron's schedule under tensor parallelism, every gradient byte once under data
// parallelism.
#include "mpi_main.hpp"

#include "../../models/gpt2/model.hpp"
#include "support/model_config.hpp"

namespace {

template <int Layers>
using config = model_config<model_sizes{
    .batch = 8, .sequence = 16, .d_model = 32, .heads = 4, .d_ff = 64, .vocab = 48, .layers = Layers}>;

using backend = mtf::kokkos_backend<>;
using events = std::vector<mtf::collectives::event>;

struct traffic {
  events forward, backward, update;
  std::uint64_t parameter_bytes = 0;
};

/// One training step's collectives, by phase.
template <class C, mtf::fixed_string Mesh, mtf::fixed_string Rules>
traffic step() {
  using layout =
      mtf::layout_of<Mesh, Rules, typename C::batch, typename C::sequence, typename C::memory, typename C::d_model,
                     typename C::heads, typename C::d_head, typename C::d_ff, typename C::vocab>;
  using model = mtf::gpt2::model<C>;
  using parameters = typename model::template parameters<mtf::place<float, layout, backend>::template tensor>;
  using tokens =
      typename mtf::place<std::int32_t, layout, backend>::template tensor<typename C::batch, typename C::sequence>;
  mtf::mpi_collectives ranks(mtf::mesh_of<Mesh>::shape());
  backend machine(ranks);
  auto p = model::template initial<parameters>(machine, mtf::random_key(1));
  mtf::adamw<parameters> optimizer(machine, {.clip_norm = 1});
  auto const ids = mtf::zeros<tokens>(machine);

  traffic t;
  t.parameter_bytes = sizeof(float) * static_cast<std::uint64_t>(mtf::parameter_count(p));
  events whole;
  ranks.record(&t.forward);
  mtf::item(model::loss(p, ids, ids));
  ranks.record(&whole);
  auto const [value, gradients] = mtf::value_and_grad(
      [](auto const& q, auto const& a, auto const& b) { return model::loss(q, a, b); })(p, ids, ids);
  ranks.record(&t.update);
  optimizer.update(machine, p, gradients, 1e-3);
  ranks.record(nullptr);
  REQUIRE(whole.size() >= t.forward.size());
  CHECK(std::equal(t.forward.begin(), t.forward.end(), whole.begin()));  // the forward pass is the same in both
  t.backward.assign(whole.begin() + static_cast<std::ptrdiff_t>(t.forward.size()), whole.end());
  return t;
}

std::ptrdiff_t count(events const& all, mtf::collective_kind kind, std::uint64_t payload) {
  return std::count(all.begin(), all.end(), mtf::collectives::event{kind, 1, payload});
}
std::uint64_t payload(events const& all) {
  std::uint64_t sum = 0;
  for (auto const& e : all) sum += e.payload;
  return sum;
}

TEST_CASE("tensor parallelism: two all-reduces of the activations a block, each way") {
  constexpr std::uint64_t activations = 8 * 16 * 32 * sizeof(float);
  auto const two = step<config<2>, "model:2", "heads:model;d_ff:model;vocab:model">();
  auto const three = step<config<3>, "model:2", "heads:model;d_ff:model;vocab:model">();
  using enum mtf::collective_kind;
  // What one more block adds is those two and nothing else.
  CHECK(count(three.forward, all_reduce, activations) - count(two.forward, all_reduce, activations) == 2);
  CHECK(count(three.backward, all_reduce, activations) - count(two.backward, all_reduce, activations) == 2);
  CHECK(three.forward.size() - two.forward.size() == 2);
  CHECK(three.backward.size() - two.backward.size() == 2);
  // Besides the blocks: the embedding forward, the output projection backward, and the rows of the cross-entropy.
  CHECK(count(two.forward, all_reduce, activations) == 2 * 2 + 1);
  CHECK(count(two.backward, all_reduce, activations) == 2 * 2 + 1);
  CHECK(count(two.forward, all_reduce, 8 * 16 * sizeof(float)) == 1);
  CHECK(count(two.forward, all_reduce, 2 * 8 * 16 * sizeof(float)) == 1);
  CHECK(two.forward.size() == 2 * 2 + 1 + 2);
  CHECK(two.backward.size() == 2 * 2 + 1);
  // The gradients are complete: the update sends one number, the norm.
  CHECK(two.update == events{{all_reduce, 1, sizeof(double)}});
}

TEST_CASE("data parallelism: every gradient byte once") {
  auto const t = step<config<2>, "data:2", "batch:data">();
  mtf::collectives::event const number{mtf::collective_kind::all_reduce, 1, sizeof(float)};
  CHECK(t.forward == events{number, number});  // how many labels count, and the loss
  CHECK(t.backward.empty());
  CHECK(payload(t.update) == t.parameter_bytes);
  for (auto const& e : t.update) CHECK(e.kind == mtf::collective_kind::all_reduce);
}

TEST_CASE("sequence split: keys and values are gathered, their gradients scattered") {
  auto const two = step<config<2>, "seq:2", "sequence:seq">();
  auto const three = step<config<3>, "seq:2", "sequence:seq">();
  constexpr std::uint64_t half = 8 * 16 * 32 * sizeof(float) / 2;
  using enum mtf::collective_kind;
  CHECK(count(three.forward, all_gather, half) - count(two.forward, all_gather, half) == 2);
  CHECK(count(three.backward, reduce_scatter, 2 * half) - count(two.backward, reduce_scatter, 2 * half) == 2);
  CHECK(three.forward.size() - two.forward.size() == 2);
  CHECK(three.backward.size() - two.backward.size() == 2);
}

}  // namespace
