// Mixed precision: float parameters, a function that computes in bfloat16.
#include "on_ranks.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

struct batch : mtf::dim<"batch", 16> {};
struct pixels : mtf::dim<"pixels", 24> {};
struct hidden : mtf::dim<"hidden", 32> {};
struct digit : mtf::dim<"digit", 4> {};
struct data : mtf::axis<"data", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_batch = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;

template <template <class...> class Tensor>
struct mlp {
  Tensor<pixels, hidden> w1;
  Tensor<hidden> b1;
  Tensor<hidden, digit> w2;
  MTF_FIELDS(w1, b1, w2);
};

// Data comes as float: it is cast to what the parameters are computed in.
constexpr auto loss = [](auto const& p, auto const& x, auto const& label) {
  using T = typename decltype(p.w1)::element_type;
  auto const h = mtf::gelu(mtf::einsum<batch, hidden>(mtf::cast<T>(x), p.w1) + p.b1);
  return mtf::mean(mtf::cross_entropy<digit>(mtf::einsum<batch, digit>(h, p.w2), label));
};

// The precision is a part of the parameters' type; nothing else is said.
template <class Layout>
using parameters = mlp<mtf::place<mtf::mixed_bfloat16, Layout, recipes::backend>::template tensor>;

// Gradients are bfloat16, their messages half as long as float's. This completes them in float.
using with_float_gradients = mtf::precision<float, mtf::bfloat16, float>;

// A step, and the loss of the new parameters: without gradients, so the cast is asked for.
template <class Parameters>
float improved(recipes::backend& machine, Parameters& p, auto& optimizer, auto const& x, auto const& label) {
  auto const [value, gradients] = mtf::value_and_grad(loss)(p, x, label);
  optimizer.update(machine, p, gradients, 1e-2);
  return mtf::item(loss(mtf::as_computed(p), x, label));
}

template <class Layout>
std::vector<float> losses() {
  std::vector<float> found;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using real = mtf::place<float, Layout, recipes::backend>;
    using whole = mtf::place<std::int32_t, Layout, recipes::backend>;
    parameters<Layout> p;
    mtf::for_each_tensor(
        [&](auto name, auto& x) {
          x = mtf::random_normal<std::remove_reference_t<decltype(x)>>(machine, mtf::random_key(7).of(name), 0, 0.2);
        },
        p);
    mtf::adamw<parameters<Layout>> optimizer(machine, {});
    auto const x = recipes::random<typename real::template tensor<batch, pixels>>(machine, "x");
    std::vector<std::int32_t> labels(batch::extent);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % digit::extent);
    auto const label = mtf::from_global<typename whole::template tensor<batch>, digit>(machine, labels);
    std::vector<float> mine{mtf::item(loss(mtf::as_computed(p), x, label))};
    for (int step = 0; step < 20; ++step) mine.push_back(improved(machine, p, optimizer, x, label));
    if (machine.ranks().rank() == 0) found = mine;
  });
  return found;
}

TEST_CASE("a model in mixed precision learns, alike under every layout") {
  auto const alone = losses<one_rank>(), split = losses<by_batch>();
  CHECK(alone.back() < 0.2F * alone.front());
  recipes::check_close(split, alone, 0.02);
}

// Of the gradients' messages, and of the loss: four bytes.
template <class Precision>
constexpr auto plan = mtf::plan_of<by_batch>(loss, mtf::parameters<mlp, Precision>{},
                                             mtf::input<float, batch, pixels>{}, mtf::input<std::int32_t, batch>{});
constexpr auto gradients = pixels::extent * hidden::extent + hidden::extent + hidden::extent * digit::extent;
static_assert(plan<float>.bytes_sent_per_rank() == 4 + 4 * gradients);
static_assert(plan<mtf::mixed_bfloat16>.bytes_sent_per_rank() == 4 + 2 * gradients);
static_assert(plan<with_float_gradients>.bytes_sent_per_rank() == 4 + 4 * gradients);

}  // namespace
