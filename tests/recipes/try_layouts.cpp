// Layouts as values: a program that plans under many, takes the one that sends least, and trains under it.
#include "on_ranks.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <mtf/plan/plan_under.hpp>

namespace {

struct batch : mtf::dim<"batch", 16> {};
struct pixels : mtf::dim<"pixels", 20> {};
struct hidden : mtf::dim<"hidden", 8> {};
struct digit : mtf::dim<"digit", 10> {};

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

using backend = recipes::backend;
using real = mtf::place<float, mtf::any_layout<>, backend>;
using parameters = mlp<real::tensor>;

mtf::plan_value planned(mtf::layout_value const& layout) {
  return mtf::plan_under(loss, layout, mtf::parameters<mlp>{}, mtf::input<float, batch, pixels>{},
                         mtf::input<int, batch>{});
}

// The candidate under which a step sends least. One that cannot work is passed over: `table` says why.
mtf::layout_value best_of(mtf::mesh_value const& mesh, std::vector<std::string> const& candidates, std::string& table) {
  mtf::layout_value best;
  auto least = ~std::uint64_t{0};
  for (auto const& rules : candidates) {
    try {
      auto const layout = mtf::layout_from(mesh, rules);
      auto const sent = planned(layout).bytes_sent_per_rank();
      table += rules + ": " + std::to_string(sent) + " bytes\n";
      if (sent < least) best = layout;
      least = std::min(least, sent);
    } catch (mtf::user_error const& e) {
      table += rules + ": " + e.what() + "\n";
    }
  }
  return best;
}

TEST_CASE("a program takes the layout that sends least") {
  std::vector<std::string> const candidates{"batch:a+b", "batch:a;hidden:b", "hidden:a+b", "batch:a;pixels:b",
                                            "batch:a;hidden:a"};
  std::string table;
  auto const best = best_of(mtf::mesh_from("a:2;b:2"), candidates, table);
  MESSAGE(table);
  CHECK(best.text() == "batch:a;hidden:b");
  CHECK(table.find("batch:a;hidden:a: the layout is not injective") != std::string::npos);

  mtf::rank_threads pool(best.mesh.shape.size());
  pool.run(best.mesh.shape, [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    machine.layouts().add(best);
    parameters p{recipes::random<real::tensor<pixels, hidden>>(machine, "w1"),
                 recipes::random<real::tensor<hidden, digit>>(machine, "w2")};
    auto const x = recipes::random<real::tensor<batch, pixels>>(machine, "x");
    auto const label = mtf::zeros<mtf::place<int, mtf::any_layout<>, backend>::tensor<batch>>(machine);
    mtf::adamw<parameters> optimizer(machine, {});

    std::vector<mtf::collectives::event> events;
    machine.ranks().record(&events);
    auto const [value, gradients] = mtf::value_and_grad(loss)(p, x, label);
    auto const first = mtf::item(value);
    optimizer.update(machine, p, gradients, 1e-2);
    machine.ranks().record(nullptr);
    CHECK(events == planned(best).unrolled());
    for (int step = 0; step < 20; ++step)
      optimizer.update(machine, p, mtf::value_and_grad(loss)(p, x, label).gradients, 1e-2);
    CHECK(mtf::item(loss(p, x, label)) < first);
  });
}

}  // namespace
