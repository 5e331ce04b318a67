// A model in mixed precision: any layout gives what one rank does, up to the rounding of bfloat16; the ranks that hold
// the same hold the same bits; what ran, in messages and in memory, is what was planned.
// devices: none
// compilers: first
#define DOCTEST_CONFIG_IMPLEMENT
#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/threads.hpp>

#include "../support/to_double.hpp"

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;

struct batch : mtf::dim<"batch", 32> {};
struct pixels : mtf::dim<"pixels", 96> {};
struct hidden : mtf::dim<"hidden", 256> {};  // gradients of pixels x hidden are not small, even of a quarter
struct digit : mtf::dim<"digit", 16> {};

template <template <class...> class Tensor>
struct mlp {
  Tensor<pixels, hidden> w1;
  Tensor<hidden> b1, gamma, beta;
  Tensor<hidden, digit> w2;
  MTF_FIELDS(w1, b1, gamma, beta, w2);
};

constexpr auto loss = [](auto const& p, auto const& x, auto const& label) {
  auto const h = mtf::gelu(mtf::einsum<batch, hidden>(x, p.w1) + p.b1);  // smooth: rounding flips no sign
  return mtf::mean(
      mtf::cross_entropy<digit>(mtf::einsum<batch, digit>(mtf::layer_norm<hidden>(h, p.gamma, p.beta), p.w2), label));
};

using split = mtf::state_split_over<batch>;
constexpr auto when = mtf::completed_gradients::overlapped;

/// What the ranks of a mesh came to.
struct outcome {
  double loss = 0, evaluated = 0;
  std::map<std::string, std::vector<double>> gradients;
  std::vector<mtf::collectives::event> sent;
};

/// A training step, and the loss of the same parameters without gradients. The batch is `times` micro-batches, each of
/// the same examples.
template <class P>
outcome step(mtf::collectives& ranks, mtf::layout_value const& layout, std::size_t times) {
  using place = mtf::place<P, mtf::any_layout<>, backend>;
  using parameters = mlp<place::template tensor>;
  using activation = typename decltype(mtf::as_computed_t<parameters>::b1)::element_type;
  backend machine = backend::one_of_many(ranks);
  machine.layouts().add(layout);
  mtf::random_key const key(3);
  parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_normal<std::remove_reference_t<decltype(x)>>(machine, key.of(name), 0, 0.3);
      },
      p);
  auto const x = mtf::random_normal<typename place::template rebound<activation>::template tensor<batch, pixels>>(
      machine, key.of("x"));
  std::vector<std::int32_t> labels(batch::extent);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i * 7 % digit::extent);
  auto const label =
      mtf::from_global<typename place::template rebound<std::int32_t>::template tensor<batch>>(machine, labels);
  mtf::adamw<parameters, mtf::decay_weights, split> optimizer(machine, {});

  outcome out;
  out.evaluated = mtf::item(loss(mtf::as_computed(p), x, label));
  ranks.record(&out.sent);
  auto const result = times == 1 ? mtf::value_and_grad<split>(loss, when)(p, x, label)
                                 : mtf::value_and_grad<split>(mtf::accumulated(loss, times), when)(p, x, label);
  optimizer.update(machine, p, result.gradients, 1e-2);
  ranks.record(nullptr);
  out.loss = mtf::item(result.value);
  mtf::for_each_tensor(
      [&](auto name, auto const& g, auto const& updated) {
        using G = typename std::remove_cvref_t<decltype(g)>::element_type;
        static_assert(std::is_same_v<typename std::remove_cvref_t<decltype(updated)>::element_type, float>);
        auto& to = out.gradients[std::string(name)];
        for (G const v : mtf::to_global(g.complete())) to.push_back(tests::to_double(v));
        // Replicas: a maximum over the ranks that hold this shard, and a minimum, are what each has.
        auto const mine = updated.local();
        auto const n = mine.size();
        auto const same = ~updated.where().spec.split_axes() & ((1U << 2U) - 1);
        if (ranks.mesh().size() == 1) return;
        for (auto const op : {mtf::combine::max, mtf::combine::min}) {
          std::vector<float> all(n);
          ranks.communicate(mtf::collective::all_reduce(same, op, mtf::element::f32, n), mine.data(), all.data());
          CHECK(all == mine);
        }
      },
      result.gradients, p);
  return out;
}

template <class P>
outcome on_mesh(std::string const& mesh_words, std::string const& rules, std::size_t times = 1) {
  auto const mesh = mtf::mesh_from(mesh_words);
  auto const layout = mtf::layout_from<batch, pixels, hidden, digit>(mesh, rules);
  outcome first;
  mtf::rank_threads pool(mesh.shape.size());
  pool.run(
      mesh.shape,
      [&](mtf::collectives& ranks) {
        auto found = step<P>(ranks, layout, times);
        if (ranks.rank() == 0) first = std::move(found);
      },
      mesh.text());
  return first;
}

/// How far the gradients are from those wanted, as a share of their norm.
double distance(outcome const& found, outcome const& want) {
  double difference = 0, norm = 0;
  for (auto const& [name, g] : want.gradients)
    for (std::size_t i = 0; i < g.size(); ++i) {
      double const d = found.gradients.at(name)[i] - g[i];
      difference += d * d;
      norm += g[i] * g[i];
    }
  return std::sqrt(difference / norm);
}

constexpr double rounding = 0x1p-8;  // of a number to bfloat16, at most

template <class P>
void any_layout_is_as_good() {
  auto const exact = on_mesh<float>("one:1", ""), alone = on_mesh<P>("one:1", "");
  using gradient =
      typename decltype(mtf::gradients_t<
                        mlp<mtf::place<P, mtf::any_layout<>, backend>::template tensor>>::w1)::element_type;
  static_assert(std::is_same_v<gradient, typename P::completed>);
  CHECK(alone.loss == alone.evaluated);
  CHECK(alone.loss == doctest::Approx(exact.loss).epsilon(2 * rounding));
  CHECK(alone.loss != exact.loss);
  CHECK(distance(alone, exact) < 4 * rounding);
  for (std::string const rules : {"batch:data;hidden:model", "batch:data;digit:model", "pixels:data;hidden:model",
                                  "batch:data", "hidden:model"}) {
    CAPTURE(rules);
    auto const found = on_mesh<P>("data:2;model:2", rules);
    CHECK(found.loss == doctest::Approx(found.evaluated).epsilon(1e-6));
    CHECK(found.loss == doctest::Approx(alone.loss).epsilon(2 * rounding));
    CHECK(distance(found, exact) < 4 * rounding);
    auto const layout = mtf::layout_from<batch, pixels, hidden, digit>(mtf::mesh_from("data:2;model:2"), rules);
    auto const plan = mtf::plan_under<when, split, mtf::updated_by<mtf::adamw>>(
        loss, layout, mtf::parameters<mlp, P>{}, mtf::input<mtf::bfloat16, batch, pixels>{},
        mtf::input<std::int32_t, batch>{});
    CHECK(found.sent == plan.unrolled());
  }
}

/// Parts of a gradient, each a power of two's share of it, add up to it exactly.
template <class P>
void micro_batches_add_up(std::size_t times) {
  for (std::string const mesh : {"one:1", "data:2;model:2"}) {
    std::string const rules = mesh == "one:1" ? "" : "batch:data;hidden:model";
    auto const one = on_mesh<P>(mesh, rules), several = on_mesh<P>(mesh, rules, times);
    CHECK(several.loss == one.loss);
    CHECK(several.gradients == one.gradients);
  }
}

}  // namespace

TEST_CASE("gradients in bfloat16") { any_layout_is_as_good<mtf::mixed_bfloat16>(); }

TEST_CASE("gradients in float") { any_layout_is_as_good<mtf::precision<float, mtf::bfloat16, float>>(); }

TEST_CASE("state in bfloat16") {
  any_layout_is_as_good<mtf::precision<float, mtf::bfloat16, mtf::bfloat16, mtf::bfloat16>>();
}

TEST_CASE("micro-batches: gradients are added up in the type in which they are completed") {
  micro_batches_add_up<mtf::mixed_bfloat16>(2);
  micro_batches_add_up<mtf::precision<float, mtf::bfloat16, float>>(4);
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
