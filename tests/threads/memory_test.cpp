// Layers that are computed again in the backward pass: the most memory of tensors that a rank has in a training step is
// what was planned, to the byte, on every rank.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

#include "../support/counted_backend.hpp"

namespace {

using backend = tests::counted_backend;

struct batch : mtf::dim<"batch", 512> {};
struct in : mtf::dim<"in", 128> {};
struct hidden : mtf::dim<"hidden", 512> {};  // with `in` more than 64 KiB: gradients that are not small

template <template <class...> class Tensor>
struct layer {
  Tensor<in> gamma, beta;
  Tensor<in, hidden> w1;
  Tensor<hidden> b1;
  Tensor<hidden, in> w2;
  MTF_FIELDS(gamma, beta, w1, b1, w2);
};
// `scale` is used inside of every layer and outside of them.
template <std::size_t Layers>
struct of_layers {
  template <template <class...> class Tensor>
  struct network {
    std::array<layer<Tensor>, Layers> layers;
    Tensor<in> scale;
    MTF_FIELDS(layers, scale);
  };
};

struct one_layer {
  constexpr auto operator()(auto const& p, auto const& scale, auto const& x, mtf::random_key key) const {
    auto const h = mtf::tanh(mtf::linear<batch, hidden>(mtf::layer_norm<in>(x, p.gamma, p.beta), p.w1, p.b1));
    return x + mtf::dropout(mtf::complete(mtf::einsum<batch, in>(h, p.w2)) * scale, 0.25, key);
  }
};
struct recomputed_layer {
  constexpr auto operator()(auto const& p, auto const& scale, auto const& x, mtf::random_key key) const {
    return mtf::recompute(one_layer{}, p, scale, x, key);
  }
};
template <class Layer>
struct stack {
  constexpr auto operator()(auto const& layers, auto const& scale, auto const& x) const {
    return mtf::scan(layers, x, [&](auto const& p, auto const& y, std::size_t i) {
      return Layer{}(p, scale, y, mtf::random_key(5).of(i));
    });
  }
};
/// The same network: what is kept of it for the backward pass?
struct everything : stack<one_layer> {};
struct inputs_of_layers : stack<recomputed_layer> {};
struct inputs_of_nested_layers {
  constexpr auto operator()(auto const& layers, auto const& scale, auto const& x) const {
    return mtf::scan(layers, x, [&](auto const& p, auto const& y, std::size_t i) {
      return mtf::recompute(recomputed_layer{}, p, scale, y, mtf::random_key(5).of(i));
    });
  }
};
struct input_of_the_stack {
  constexpr auto operator()(auto const& layers, auto const& scale, auto const& x) const {
    return mtf::recompute(inputs_of_layers{}, layers, scale, x);
  }
};

template <class Stack, bool InputHasGradient>
struct loss {
  constexpr auto operator()(auto const& p, auto const& x) const {
    if constexpr (InputHasGradient)
      return of(p, Stack{}(p.layers, p.scale, x * p.scale));
    else
      return of(p, Stack{}(p.layers, p.scale, x));
  }
  static constexpr auto of(auto const& p, auto const& through) { return mtf::mean(mtf::square(through * p.scale)); }
};

/// A step, planned and run. T: the elements of the parameters, or their precision; X: those of the input.
template <class T, class X, std::size_t Layers, class Layout, mtf::completed_gradients When, class Split>
struct step {
  template <template <class...> class Tensor>
  using network = typename of_layers<Layers>::template network<Tensor>;
  using parameters = network<mtf::place<T, Layout, backend>::template tensor>;
  using optimizer = mtf::adamw<parameters, mtf::decay_weights, Split>;
  using input = typename mtf::place<X, Layout, backend>::template tensor<batch, in>;
  using planned_parameters = mtf::parameters<network, T>;
  using planned_input = mtf::input<X, batch, in>;

  template <class F>
  static std::uint64_t planned(mtf::layout_value const& layout, int rank, F const& f) {
    mtf::trace b(layout.mesh.shape, rank);
    b.layouts().add(layout);
    using mtf::detail::stand_in;
    using place = mtf::place<float, Layout, mtf::trace>;
    mtf::detail::planned_step<When, Split, mtf::updated_by<mtf::adamw>, planned_parameters, planned_input>{
        b, f, stand_in<place, planned_parameters>(b).value, stand_in<place, planned_input>(b).value};
    return b.peak_bytes();
  }

  template <class F>
  static std::uint64_t run(backend& machine, F const& f) {
    parameters p;
    mtf::for_each_tensor(
        [&](std::string_view name, auto& x) {
          x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, mtf::random_key(1).of(name), 0, 0.1);
        },
        p);
    optimizer updates(machine, {});
    auto const x = mtf::random_normal<input>(machine, mtf::random_key(2));
    machine.forget_peak();
    auto const result = mtf::value_and_grad<Split>(f, When)(p, x);
    updates.update(machine, p, result.gradients, 0.01);
    CHECK(mtf::item(result.value) > 0);
    return machine.peak();
  }
};

constexpr auto later = mtf::completed_gradients::later;
constexpr auto overlapped = mtf::completed_gradients::overlapped;
using whole = mtf::state_split_over<>;
using split = mtf::state_split_over<batch>;
using by_value = mtf::any_layout<0>;

template <class Step, class F>
std::uint64_t as_planned(backend& machine, mtf::layout_value const& layout, F const& f) {
  auto const ran = Step::run(machine, f);
  CHECK(ran == Step::planned(layout, machine.ranks().rank(), f));
  return ran;
}

/// f(machine, layout) on every rank of a mesh.
template <class F>
void on_ranks(mtf::layout_value const& layout, F const& f) {
  mtf::rank_threads pool(layout.mesh.shape.size());
  pool.run(layout.mesh.shape, [&](mtf::collectives& ranks) {
    backend machine(ranks, Kokkos::Serial(Kokkos::NewInstance{}));
    machine.layouts().add(layout);
    f(machine, layout);
    CHECK(machine.live() == 0);
  });
}
constexpr std::array<std::array<std::string_view, 2>, 4> meshes{{{"one:1", ""},
                                                                 {"data:4", "batch:data"},
                                                                 {"model:2", "hidden:model"},
                                                                 {"data:2;model:2", "batch:data;hidden:model"}}};
template <class F>
void on_each_mesh(F const& f) {
  for (auto const& [mesh, rules] : meshes) {
    std::string_view const name = mesh;
    CAPTURE(name);
    on_ranks(mtf::layout_from(mtf::mesh_from(mesh), rules), f);
  }
}

template <class T, class X, mtf::completed_gradients When, class Split, bool InputHasGradient>
void every_stack() {
  on_each_mesh([](backend& machine, mtf::layout_value const& layout) {
    using of_seven = step<T, X, 7, by_value, When, Split>;
    auto const kept = as_planned<of_seven>(machine, layout, loss<everything, InputHasGradient>{});
    auto const again = as_planned<of_seven>(machine, layout, loss<inputs_of_layers, InputHasGradient>{});
    auto const nested = as_planned<of_seven>(machine, layout, loss<inputs_of_nested_layers, InputHasGradient>{});
    as_planned<of_seven>(machine, layout, loss<input_of_the_stack, InputHasGradient>{});
    CHECK(again < kept);
    CHECK(nested == again);
  });
}

TEST_CASE("layouts as values: what is kept, computed again, and again inside of that") {
  every_stack<double, double, later, whole, true>();
  every_stack<double, double, overlapped, split, false>();
}
TEST_CASE("in mixed precision") {
  every_stack<mtf::mixed_bfloat16, mtf::bfloat16, overlapped, split, true>();
  every_stack<mtf::precision<float, mtf::bfloat16, float>, mtf::bfloat16, later, whole, false>();
}

// A plan visits four layers at most; another stands for the others.
template <std::size_t... Layers>
void each_depth() {
  on_each_mesh([](backend& machine, mtf::layout_value const& layout) {
    (as_planned<step<float, float, Layers, by_value, later, whole>>(machine, layout, loss<inputs_of_layers, false>{}),
     ...);
  });
}
TEST_CASE("stacks of some depths") { each_depth<1, 3, 4, 5, 6>(); }

TEST_CASE("micro-batches of layers that are computed again") {
  on_each_mesh([](backend& machine, mtf::layout_value const& layout) {
    for (std::size_t const n : {1U, 2U, 5U}) {
      CAPTURE(n);
      as_planned<step<float, float, 6, by_value, overlapped, split>>(
          machine, layout, mtf::accumulated(loss<inputs_of_layers, true>{}, n));
      as_planned<step<mtf::precision<float, mtf::bfloat16, float>, mtf::bfloat16, 6, by_value, later, whole>>(
          machine, layout, mtf::accumulated(loss<inputs_of_layers, true>{}, n));
      as_planned<step<mtf::mixed_bfloat16, mtf::bfloat16, 6, by_value, overlapped, split>>(
          machine, layout, mtf::accumulated(loss<inputs_of_layers, true>{}, n));
    }
  });
}

// The layout is a type, and the plan a constant.
template <class T, class X, class Layout, mtf::completed_gradients When, class Split>
void typed() {
  using this_step = step<T, X, 6, Layout, When, Split>;
  using f = loss<inputs_of_layers, true>;
  constexpr auto plan = mtf::plan_of<Layout, When, Split, mtf::updated_by<mtf::adamw>>(
      f{}, typename this_step::planned_parameters{}, typename this_step::planned_input{});
  on_ranks(mtf::value_of<Layout>, [&](backend& machine, mtf::layout_value const& layout) {
    CHECK(as_planned<this_step>(machine, layout, f{}) == plan.peak_bytes);
  });
}
TEST_CASE("layouts as types") {
  typed<float, float, mtf::layout_of<"data:2;model:2", "batch:data;hidden:model", batch, in, hidden>, overlapped,
        split>();
  typed<mtf::mixed_bfloat16, mtf::bfloat16, mtf::layout_of<"model:2", "hidden:model", batch, in, hidden>, later,
        whole>();
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
