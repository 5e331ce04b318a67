// Layers that a plan takes to be alike: where one stands for the others, the plan is that of a trace that visits more
// of them; else the trace says that they differ. Where it stands for the last one too, the plan sends the same and
// computes no more. devices: none compilers: first
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <typeinfo>
#include <utility>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>

#include "../support/same_plan.hpp"
#include "support/model_loss.hpp"

namespace {

struct batch : mtf::dim<"batch", 8> {};
struct in : mtf::dim<"in", 256> {};
struct hidden : mtf::dim<"hidden", 512> {};

template <template <class...> class Tensor>
struct layer {
  Tensor<in> scale;  // a small gradient
  Tensor<in, hidden> w1;
  Tensor<hidden, in> w2;
  MTF_FIELDS(scale, w1, w2);
};
template <std::size_t Layers>
struct of_layers {
  template <template <class...> class Tensor>
  struct network {
    Tensor<in> scale;
    std::array<layer<Tensor>, Layers> layers;
    MTF_FIELDS(scale, layers);
  };
};

// What a layer does. Some keep their input, or their result, for the backward pass, some neither.
struct product {
  constexpr auto operator()(auto const& p, auto const& x) const { return x * p.scale; }
};
struct sum {
  constexpr auto operator()(auto const& p, auto const& x) const { return x + p.scale; }
};
struct sum_and_relu {
  constexpr auto operator()(auto const& p, auto const& x) const { return mtf::relu(x + p.scale); }
};
struct product_and_exp {
  constexpr auto operator()(auto const& p, auto const& x) const { return mtf::exp(x * p.scale); }
};
struct mlp {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const h = mtf::tanh(mtf::einsum<batch, hidden>(x, p.w1));
    return mtf::complete(mtf::einsum<batch, in>(h, p.w2));
  }
};
struct residual {
  constexpr auto operator()(auto const& p, auto const& x) const { return x + mlp{}(p, mtf::softmax<in>(x * p.scale)); }
};
struct recomputed {
  constexpr auto operator()(auto const& p, auto const& x) const { return mtf::recompute(residual{}, p, x); }
};
struct without_gradient {
  constexpr auto operator()(auto const& p, auto const& x) const { return mtf::stop_gradient(x) + p.scale; }
};
struct unused_weights {
  constexpr auto operator()(auto const&, auto const& x) const { return x; }
};

// How layers get their input, and what is done with it and with their result.
template <class Layer>
constexpr auto through(auto const& p, auto const& x) {
  return mtf::scan(p.layers, x, [](auto const& l, auto const& y, std::size_t) { return Layer{}(l, y); });
}
template <class Layer>
struct of_the_input {
  constexpr auto operator()(auto const& p, auto const& x) const { return mtf::mean(through<Layer>(p, x) * p.scale); }
};
template <class Layer>
struct of_a_sum {  // which nothing else holds
  constexpr auto operator()(auto const& p, auto const& x) const { return mtf::mean(through<Layer>(p, x + p.scale)); }
};
template <class Layer>
struct of_an_exp {  // which its own node keeps
  constexpr auto operator()(auto const& p, auto const& x) const {
    return mtf::mean(mtf::square(through<Layer>(p, mtf::exp(x * p.scale)) * p.scale));
  }
};
template <class Layer>
struct beside_it {  // it is used again
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const y = x * p.scale;
    return mtf::mean(mtf::square(y) * through<Layer>(p, y));
  }
};
template <class Layer>
struct twice {
  constexpr auto operator()(auto const& p, auto const& x) const {
    return mtf::mean(through<Layer>(p, through<Layer>(p, x * p.scale)));
  }
};
template <class Layer>
struct all_recomputed {
  constexpr auto operator()(auto const& p, auto const& x) const {
    return mtf::mean(mtf::recompute([](auto const& q, auto const& y) { return through<Layer>(q, y); }, p, x * p.scale));
  }
};
template <class Layer>
struct by_a_loop {  // not by scan
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto y = x * p.scale;
    for (auto const& l : p.layers) y = Layer{}(l, y);
    return mtf::mean(y);
  }
};
template <class Layer>
struct the_first_alone {
  constexpr auto operator()(auto const& p, auto const& x) const { return mtf::mean(Layer{}(p.layers[0], x * p.scale)); }
};
template <class Layer>
struct with_partial_gradient {  // what follows the layers gives them terms of a gradient
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const y = through<Layer>(p, x * p.scale);
    return mtf::mean(mtf::einsum<batch, hidden>(y, p.layers[0].w1)) + mtf::mean(mtf::square(y));
  }
};

/// What layers carry besides: a number to which each adds.
template <class X, class Number>
struct carried {
  X x;
  Number balance;
  MTF_FIELDS(x, balance);
};
template <class X>
constexpr auto balance_of(X const& x) {
  return mtf::complete(mtf::mean(mtf::square(x)));
}
template <class Layer>
struct balanced_layer {
  template <class Carried>
  constexpr Carried operator()(auto const& p, Carried const& c) const {
    auto const y = Layer{}(p, c.x);
    return {y, c.balance + balance_of(y)};
  }
};
template <class Layer>
struct balanced {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const y = x * p.scale;
    carried const from{y, balance_of(y)};
    auto const [out, balance] = mtf::scan(
        p.layers, from, [](auto const& l, auto const& c, std::size_t) { return balanced_layer<Layer>{}(l, c); });
    return mtf::mean(out * p.scale) + balance;
  }
};
template <class Layer>
struct balanced_and_recomputed {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const y = x * p.scale;
    carried const from{y, balance_of(y)};
    auto const [out, balance] = mtf::scan(p.layers, from, [](auto const& l, auto const& c, std::size_t) {
      return mtf::recompute(balanced_layer<Layer>{}, l, c);
    });
    return mtf::mean(out * p.scale) + balance;
  }
};
template <class Layer>
struct unbalanced {  // what is carried besides does not change
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const y = x * p.scale;
    auto const end = mtf::scan(p.layers, carried{y, balance_of(y)}, [](auto const& l, auto c, std::size_t) {
      c.x = Layer{}(l, c.x * c.balance);
      return c;
    });
    return mtf::mean(end.x);
  }
};

constexpr auto mesh = mtf::mesh_from("data:2;model:4");
constexpr std::array layouts{mtf::layout_from(mesh, ""),
                             mtf::layout_from(mesh, "batch:data"),
                             mtf::layout_from(mesh, "batch:data;hidden:model"),
                             mtf::layout_from(mesh, "in:model"),
                             mtf::layout_from(mesh, "in:data;hidden:model"),
                             mtf::layout_from(mesh, "batch:data+model")};

int plans = 0, alike = 0, last_alike = 0;

/// Has b all work of a, and each as much or more?
bool is_no_more_work(mtf::plan_value const& a, mtf::plan_value const& b) {
  return std::all_of(a.work.begin(), a.work.end(), [&](mtf::planned_work const& x) {
    return std::any_of(b.work.begin(), b.work.end(), [&](mtf::planned_work const& y) {
      return std::string_view(x.operation) == y.operation && std::string_view(x.primitive) == y.primitive &&
             x.when == y.when && x.grade == y.grade && x.runs <= y.runs && x.flops <= y.flops && x.bytes <= y.bytes;
    });
  });
}

template <mtf::completed_gradients When, class Split, class Update, class F, class... In>
void check(F const& f, mtf::layout_value const& layout, In...) {
  using enum mtf::alike_layers;
  auto const planned = [&](mtf::alike_layers taken, bool& differ) {
    mtf::trace b(layout.mesh.shape, 0, taken);
    mtf::detail::trace_under<When, Split, Update, F, In...>(b, f, std::span(&layout, 1), {});
    differ = b.layers_differ();
    return mtf::detail::plan_from<F>(b, layout.mesh);
  };
  CAPTURE(layout.text());
  bool differ = false, last_differs = false, never = false;
  auto const more = planned(some, never);
  auto const few = planned(all_but_last, differ);
  auto const fewest = planned(all, last_differs);
  CHECK(!never);
  ++plans;
  if (!differ) {
    ++alike;
    CHECK(same_plan(few, more));
  }
  if (!last_differs) {
    ++last_alike;
    CHECK(same_collectives(fewest, more));
    CHECK(is_no_more_work(fewest, more));
  }
  CHECK(same_plan(mtf::plan_under<When, Split, Update>(f, layout, In{}...), more));
}

template <class F, std::size_t Layers>
void check_all() {
  CAPTURE(typeid(F).name());
  CAPTURE(Layers);
  using enum mtf::completed_gradients;
  using split = mtf::state_split_over<batch>;
  constexpr mtf::parameters<of_layers<Layers>::template network> p;
  constexpr mtf::input<float, batch, in> x;
  for (auto const& layout : layouts) {
    check<later, mtf::state_split_over<>, mtf::without_update>(F{}, layout, p, x);
    check<overlapped, split, mtf::updated_by<mtf::adamw>>(F{}, layout, p, x);
  }
}
template <template <class> class Program, class Layer>
void check_depths() {
  [&]<std::size_t... Layers>(std::index_sequence<Layers...>) {
    (check_all<Program<Layer>, Layers>(), ...);
  }(std::index_sequence<1, 3, 5>{});
}
template <template <class> class... Program>
struct programs {
  template <class... Layer>
  static void check_each() {
    (check_with<Layer>(), ...);
  }

 private:
  template <class Layer>
  static void check_with() {
    (check_depths<Program, Layer>(), ...);
  }
};

}  // namespace

TEST_CASE("a plan in which layers are taken to be alike is that of one that visits more of them") {
  programs<of_the_input, of_a_sum, of_an_exp, beside_it>::check_each<product, sum, sum_and_relu, residual,
                                                                     recomputed>();
  programs<of_a_sum>::check_each<product_and_exp, mlp, without_gradient, unused_weights>();
  programs<twice, all_recomputed, by_a_loop, the_first_alone, with_partial_gradient>::check_each<sum, residual>();
  programs<balanced, balanced_and_recomputed, unbalanced>::check_each<sum, residual>();
  MESSAGE(alike << " of " << plans << " plans took layers to be alike, " << last_alike << " also the last one");
  CHECK(alike > plans / 3);
  CHECK(last_alike > plans / 3);
}

TEST_CASE("a Transformer's layers are alike") {
  using loss = model_loss<small_config>;
  auto const before = std::array{plans, alike, last_alike};
  for (auto const* const rules : {"", "batch:data", "batch:data;heads:model;d_ff:model;vocab:model", "d_model:model",
                                  "sequence:data", "batch:data;d_ff:model"}) {
    auto const layout = mtf::layout_from(mtf::mesh_from("data:2;model:2"), rules);
    check<mtf::completed_gradients::overlapped, mtf::state_split_over<>, mtf::updated_by<mtf::adamw>>(
        loss{}, layout, loss::parameters, loss::tokens, loss::tokens);
  }
  CHECK(plans - before[0] == alike - before[1]);
  CHECK(plans - before[0] == last_alike - before[2]);
}
