// What was sent: counters of each rank, beside the plan.
#include "on_ranks.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace {

struct batch : mtf::dim<"batch", 16> {};
struct pixels : mtf::dim<"pixels", 20> {};
struct hidden : mtf::dim<"hidden", 8> {};
struct digit : mtf::dim<"digit", 10> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};
using where = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<hidden, model>>;

template <template <class...> class Tensor>
struct mlp {
  Tensor<pixels, hidden> w1;
  Tensor<hidden, digit> w2;
  MTF_FIELDS(w1, w2);
};
constexpr auto loss = [](auto const& p, auto const& x, auto const& label) {
  auto const h = mtf::relu(mtf::einsum<batch, hidden>(x, p.w1));
  return mtf::mean(mtf::cross_entropy<digit>(mtf::einsum<batch, digit>(h, p.w2), label));
};
constexpr auto plan =
    mtf::plan_of<where>(loss, mtf::parameters<mlp>{}, mtf::input<float, batch, pixels>{}, mtf::input<int, batch>{});

using backend = recipes::backend;
using real = mtf::place<float, where, backend>;
using parameters = mlp<real::tensor>;

// One training step, and a table of what this rank sent in it.
template <class Step>
std::string table_of(backend& machine, Step const& step) {
  machine.ranks().reset_counts();
  step();
  std::string table;
  for (auto const& c : machine.ranks().counts())
    table += std::string(mtf::name_of(c.kind)) + ", axes " + std::to_string(c.axes) + ": " + std::to_string(c.calls) +
             " calls, " + std::to_string(c.sent) + " bytes\n";
  return table;
}

TEST_CASE("counters say what the plan says") {
  recipes::on_ranks<where>([](backend& machine) {
    parameters p{recipes::random<real::tensor<pixels, hidden>>(machine, "w1"),
                 recipes::random<real::tensor<hidden, digit>>(machine, "w2")};
    auto const x = recipes::random<real::tensor<batch, pixels>>(machine, "x");
    auto const label = mtf::zeros<mtf::place<int, where, backend>::tensor<batch>>(machine);
    mtf::adamw<parameters> optimizer(machine, {});
    auto const step = [&] {
      auto const [value, gradients] = mtf::value_and_grad(loss)(p, x, label);
      optimizer.update(machine, p, gradients, 1e-3);
    };

    auto const table = table_of(machine, step);
    if (machine.ranks().rank() == 0) MESSAGE(mtf::describe(plan) << table);
    std::uint64_t calls = 0, sent = 0;
    for (auto const& c : machine.ranks().counts()) {
      calls += c.calls;
      sent += c.sent;
    }
    CHECK(calls == plan.count());
    CHECK(sent == plan.bytes_sent_per_rank());

    // Event by event, in order: kind, axes, bytes put in.
    std::vector<mtf::collectives::event> events;
    machine.ranks().record(&events);
    step();
    machine.ranks().record(nullptr);
    CHECK(events == plan.unrolled());
  });
}

}  // namespace
