// Optimizers' state of which one axis splits several dimensions, as it divides none: every optimizer does what one with
// whole state does, whether layouts are types or values; sends and holds what was planned; and is stored and restored.
// links: checkpoint
// compilers: first
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/checkpoint.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/plan_under.hpp>

#include "../support/counted_backend.hpp"
#include "stored_models.hpp"
#include "support/scratch.hpp"

namespace {

struct batch : mtf::dim<"batch", 48> {};
struct rows : mtf::dim<"rows", 150> {};
struct six : mtf::dim<"six", 6> {};
struct columns : mtf::dim<"columns", 130> {};
struct few : mtf::dim<"few", 54> {};

template <template <class...> class Tensor>
struct network {
  Tensor<rows, six, columns> w;  // 4 divides none of these, and 12 neither: both divide their product
  Tensor<columns, few, six> v;   // of whose two largest dimensions Adafactor does not keep sums
  Tensor<columns> b;
  MTF_FIELDS(w, v, b);
};
struct loss_of {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const h = mtf::tanh(mtf::einsum<batch, six, columns>(x, p.w) + p.b);
    auto const y = mtf::einsum<batch, few>(h, p.v);
    return mtf::mean(y * y);
  }
};

template <class Params, class Decay, class Split>
using momentum = mtf::sgd<Params, Decay, Split>;
constexpr mtf::adamw_options adamw{.epsilon = 1e-3, .weight_decay = 0.1, .clip_norm = 0.05};
constexpr mtf::sgd_options with_momentum{.momentum = 0.9, .weight_decay = 0.1, .clip_norm = 0.05};

struct outcome {
  std::vector<double> norms;
  std::map<std::string, std::vector<double>> parameters, state;  // whole
  std::size_t state_bytes = 0;
  std::vector<mtf::collectives::event> sent;  // in the last step
};

template <class Optimizer>
std::map<std::string, std::vector<double>> state_of(Optimizer& optimizer) {
  std::map<std::string, std::vector<double>> all;
  optimizer.visit_state([&](std::string_view kind, auto& kept) {
    mtf::for_each_tensor(
        [&](std::string_view name, auto& x) {
          auto& numbers = all[std::string(name) + "." + std::string(kind)];
          if constexpr (mtf::tensor_type<std::remove_cvref_t<decltype(x)>>)
            for (auto const e : mtf::to_global(x)) numbers.push_back(static_cast<double>(e));
        },
        kept);
  });
  return all;
}

template <class Optimizer, class Split, class Params>
outcome train(backend& machine, Params& p, Optimizer& optimizer, int from, int to) {
  outcome out;
  using place_of_x = typename std::remove_cvref_t<decltype(p.w)>::layout_type;
  using input = mtf::tensor<float, mtf::shape<batch, rows>, place_of_x, mtf::partial<>, backend>;
  for (int step = from; step < to; ++step) {
    auto const x = mtf::random_normal<input>(machine, mtf::random_key(5).of(static_cast<std::uint64_t>(step)));
    out.sent.clear();
    machine.ranks().record(&out.sent);
    auto const [value, gradients] = mtf::value_and_grad<Split>(loss_of{}, mtf::completed_gradients::overlapped)(p, x);
    out.norms.push_back(optimizer.update(machine, p, gradients, 0.01));
    machine.ranks().record(nullptr);
  }
  out.parameters = all_of(p);
  out.state = state_of(optimizer);
  return out;
}
template <class Params>
Params initial(auto& machine) {
  Params p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, mtf::random_key(3).of(name), 0, 0.05);
      },
      p);
  return p;
}
template <class Params, class Optimizer, class Split>
outcome train(backend& machine, auto const& options) {
  auto p = initial<Params>(machine);
  auto const before = machine.memory().live;
  Optimizer optimizer(machine, options);
  auto const bytes = machine.memory().live - before;
  auto out = train<Optimizer, Split>(machine, p, optimizer, 0, 3);
  out.state_bytes = bytes;
  return out;
}

void are_close(outcome const& found, outcome const& want, double tolerance) {
  for (std::size_t i = 0; i < want.norms.size(); ++i)
    CHECK(found.norms[i] == doctest::Approx(want.norms[i]).epsilon(tolerance));
  for (auto const of : {&outcome::parameters, &outcome::state})
    for (auto const& [name, x] : want.*of) {
      CAPTURE(name);
      auto const& y = (found.*of).at(name);
      REQUIRE(y.size() == x.size());
      double worst = 0, largest = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        worst = std::max(worst, std::abs(y[i] - x[i]));
        largest = std::max(largest, std::abs(x[i]));
      }
      CHECK(worst <= tolerance * largest);
    }
}

template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
using layout_for = mtf::layout_of<Mesh, Rules, batch, rows, six, columns, few>;
template <class Layout>
using params_under = network<mtf::place<float, Layout, backend>::template tensor>;
using over = mtf::state_split_over<batch>;

/// The axes that split several dimensions of the parts of `w`.
template <class Layout>
constexpr mtf::axis_mask shared_by_w =
    mtf::detail::shared_axes(mtf::state_part_t<decltype(params_under<Layout>::w), over>::spec);

template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
void equals_whole() {
  using layout = layout_for<Mesh, Rules>;
  using typed = params_under<layout>;
  using by_value = params_under<mtf::any_layout<>>;
  static_assert(shared_by_w<layout> != 0);
  CAPTURE(Mesh.chars);
  CAPTURE(Rules.chars);
  using none = mtf::state_split_over<>;
  on_ranks_of<typename layout::mesh_type>([&](backend& machine) {
    bool const first = machine.ranks().rank() == 0;
    machine.layouts().add(mtf::value_of<layout>);
    auto const compare = [&]<template <class, class, class> class Optimizer>(auto const& options) {
      using decay = mtf::decay_weights;
      auto const want = train<typed, Optimizer<typed, decay, none>, none>(machine, options);
      auto const found = train<typed, Optimizer<typed, decay, over>, over>(machine, options);
      auto const same = train<by_value, Optimizer<by_value, decay, over>, over>(machine, options);
      if (!first) return found;
      are_close(found, want, 2e-6);
      CHECK(found.state_bytes < want.state_bytes);
      CHECK(same.parameters == found.parameters);
      CHECK(same.state == found.state);
      CHECK(same.sent == found.sent);
      CHECK(same.state_bytes == found.state_bytes);
      return found;
    };
    auto const adam = compare.template operator()<mtf::adamw>(adamw);
    compare.template operator()<momentum>(with_momentum);
    compare.template operator()<mtf::lion>(mtf::lion_options{});
    auto const factored = compare.template operator()<mtf::adafactor>(mtf::adafactor_options{});
    if (!first) return;

    // Two numbers a weight, a part of them on each rank.
    std::size_t want = 0;
    typed const tensors;
    mtf::for_each_tensor(
        [&](std::string_view, auto const& x) {
          using X = std::remove_cvref_t<decltype(x)>;
          constexpr auto size = static_cast<std::size_t>(X::local_size);
          constexpr auto ranks = static_cast<std::size_t>(
              X::mesh.size(mtf::detail::state_split_on<typename X::mesh_type, over>::template axes<layout>));
          want += 2 * ((size * 4 <= 65536 ? size : size / ranks) * 4 + 63) / 64 * 64;
        },
        tensors);
    CHECK(adam.state_bytes == want);

    auto const planned = [&]<template <class...> class Optimizer>() {
      return mtf::plan_under<mtf::completed_gradients::overlapped, over, mtf::updated_by<Optimizer>>(
                 loss_of{}, mtf::value_of<layout>, mtf::parameters<network>{}, mtf::input<float, batch, rows>{})
          .unrolled();
    };
    CHECK(adam.sent == planned.template operator()<mtf::adamw>());
    CHECK(factored.sent == planned.template operator()<mtf::adafactor>());
  });
}

}  // namespace

TEST_CASE("state of which an axis splits several dimensions is the whole state's part") {
  equals_whole<"data:4", "batch:data">();
  equals_whole<"data:12", "batch:data">();
  equals_whole<"data:4;model:2", "batch:data;six:model">();
  equals_whole<"pods:3;data:4", "batch:pods+data">();
}

/// The most memory of tensors in a step is what was planned, to the byte, on every rank.
template <template <class...> class Optimizer, class Options>
void has_planned_memory(mtf::layout_value const& layout, Options const& options) {
  using backend = tests::counted_backend;
  using params = network<mtf::place<float, mtf::any_layout<>, backend>::template tensor>;
  using input = typename mtf::place<float, mtf::any_layout<>, backend>::template tensor<batch, rows>;
  constexpr auto when = mtf::completed_gradients::overlapped;
  mtf::rank_threads pool(layout.mesh.shape.size());
  pool.run(layout.mesh.shape, [&](mtf::collectives& ranks) {
    backend machine(ranks, Kokkos::Serial(Kokkos::NewInstance{}));
    machine.layouts().add(layout);
    {
      auto p = initial<params>(machine);
      Optimizer<params, mtf::decay_weights, over> optimizer(machine, options);
      auto const x = mtf::random_normal<input>(machine, mtf::random_key(5));
      machine.forget_peak();
      auto const result = mtf::value_and_grad<over>(loss_of{}, when)(p, x);
      optimizer.update(machine, p, result.gradients, 0.01);
    }
    CHECK(machine.live() == 0);
    using on_trace = mtf::place<float, mtf::any_layout<>, mtf::trace>;
    using planned_params = mtf::parameters<network>;
    using planned_input = mtf::input<float, batch, rows>;
    using mtf::detail::stand_in;
    mtf::trace b(layout.mesh.shape, ranks.rank());
    b.layouts().add(layout);
    mtf::detail::planned_step<when, over, mtf::updated_by<Optimizer>, planned_params, planned_input>{
        b, loss_of{}, stand_in<on_trace, planned_params>(b).value, stand_in<on_trace, planned_input>(b).value};
    CHECK(machine.peak() == b.peak_bytes());
  });
}
TEST_CASE("its memory is as planned") {
  for (auto const& [mesh, rules] :
       {std::array{"data:4", "batch:data"}, std::array{"data:12", "batch:data"},
        std::array{"data:4;model:2", "batch:data;six:model"}, std::array{"pods:3;data:4", "batch:pods+data"}}) {
    auto const layout = mtf::layout_from(mtf::mesh_from(mesh), rules);
    has_planned_memory<mtf::adamw>(layout, adamw);
    has_planned_memory<mtf::adafactor>(layout, mtf::adafactor_options{});
  }
}

TEST_CASE("such state is stored whole, and goes on under another layout") {
  scratch const at;
  using alone = layout_for<"one:1", "">;
  using four = layout_for<"data:4", "batch:data">;
  using eight = layout_for<"model:2;data:4", "batch:data;columns:model">;
  using mtf::stored_as;
  using none = mtf::state_split_over<>;
  outcome want, between;
  on_ranks_of<typename alone::mesh_type>([&](backend& machine) {
    auto p = initial<params_under<alone>>(machine);
    mtf::adamw<decltype(p), mtf::decay_weights, none> optimizer(machine, adamw);
    between = train<decltype(optimizer), none>(machine, p, optimizer, 0, 2);
    want = train<decltype(optimizer), none>(machine, p, optimizer, 2, 4);
  });
  on_ranks_of<typename four::mesh_type>([&](backend& machine) {
    auto p = initial<params_under<four>>(machine);
    mtf::adamw<decltype(p), mtf::decay_weights, over> optimizer(machine, adamw);
    auto const found = train<decltype(optimizer), over>(machine, p, optimizer, 0, 2);
    if (machine.ranks().rank() == 0) are_close(found, between, 2e-6);
    mtf::save_parts(machine.ranks(), at.path, {}, stored_as("model", p), stored_as("optimizer", optimizer));
  });
  // What a rank wrote is where it belongs: one rank reads it whole.
  on_ranks_of<typename alone::mesh_type>([&](backend& machine) {
    params_under<alone> p;
    mtf::adamw<decltype(p), mtf::decay_weights, none> optimizer(machine, adamw);
    mtf::load_parts(machine, at.path, stored_as("model", p), stored_as("optimizer", optimizer));
    outcome read;
    read.state = state_of(optimizer);
    read.parameters = all_of(p);
    between.norms.clear();
    are_close(read, between, 2e-6);
  });
  on_ranks_of<typename eight::mesh_type>([&](backend& machine) {
    params_under<eight> p;
    mtf::adamw<decltype(p), mtf::decay_weights, over> optimizer(machine, adamw);
    mtf::load_parts(machine, at.path, stored_as("model", p), stored_as("optimizer", optimizer));
    auto const found = train<decltype(optimizer), over>(machine, p, optimizer, 2, 4);
    if (machine.ranks().rank() == 0) are_close(found, want, 2e-6);
  });
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
