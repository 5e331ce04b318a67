// Layers of experts under layouts, typed and by value: tokens, results, losses and gradients are those of plain loops;
// what is sent is what the header says.
// links: models
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/models/common/experts.hpp>

#include "support/experts_definition.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

using tests::chosen_by;
struct batch : mtf::dim<"batch", 4> {};
struct token : mtf::dim<"token", 8> {};
struct expert : mtf::dim<"expert", 4> {};
struct d_model : mtf::dim<"d_model", 6> {};
struct d_ff : mtf::dim<"d_ff", 4> {};
template <int N>
struct slots : mtf::dim<"slot", N> {};
template <int N>
struct choices : mtf::dim<"choice", N> {};

/// Layouts of tokens, of experts' weights, and that in which tokens are chosen.
template <class Tokens, class Experts, class Sorted>
struct under {
  using tokens = Tokens;
  using experts = Experts;
  using sorted = Sorted;
};

template <class Under>
struct with {
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<batch, token, d_model> x;  // as a parameter: its gradient is wanted
    Tensor<d_model, expert> gate;
    Tensor<mtf::under<typename Under::experts>, expert, d_model, d_ff> w1;
    Tensor<mtf::under<typename Under::experts>, expert, d_ff, d_model> w2;
    MTF_FIELDS(x, gate, w1, w2);
  };
};

template <chosen_by By, int Slots, int Choices, bool Renormalised>
struct variant {
  using slot = slots<Slots>;
  using choice = choices<Choices>;
  static constexpr tests::expert_sizes sizes{4, 8, 4, Slots, Choices, 6, 4};
  static constexpr tests::expert_router router{By, Renormalised};
  static constexpr auto route(auto const& gates) {
    if constexpr (By == chosen_by::experts)
      return mtf::models::experts_choose<token, expert, slot>(gates);
    else
      return mtf::models::tokens_choose < token, expert, slot, choice,
             By == chosen_by::gate ? mtf::models::priority::gate
                                   : mtf::models::priority::position > (gates, Renormalised);
  }
};

/// The layer, and what the router says of it.
template <class V, class Under>
constexpr auto layer(auto const& p) {
  using slot = typename V::slot;
  auto const logits = mtf::einsum<batch, token, expert>(p.x, p.gate);
  auto const x = mtf::relayout<typename Under::sorted>(p.x);
  auto const gates = mtf::relayout<typename Under::sorted>(mtf::softmax<expert>(logits));
  auto const r = V::route(gates);
  auto const sent = mtf::models::dispatch<typename Under::experts>(x, r);
  auto const h = mtf::silu(mtf::einsum<batch, expert, slot, d_ff>(sent, p.w1));
  auto const made = mtf::einsum<batch, expert, slot, d_model>(h, p.w2);
  auto const y = mtf::relayout<typename Under::tokens>(mtf::models::combine<typename Under::sorted>(made, r));
  return std::tuple(y, gates, logits, r);
}
double weight(std::size_t i) { return std::sin(static_cast<double>(3 * i + 1)); }

template <class V, class Under>
struct loss_of {
  constexpr auto operator()(auto const& p, auto const& weights) const {
    auto const [y, gates, logits, r] = layer<V, Under>(p);
    auto const z = mtf::models::router_z_loss<expert>(logits) * 0.1 + mtf::sum(y * weights);
    if constexpr (V::router.by == chosen_by::experts)
      return z;
    else
      return z + mtf::models::load_balance_loss<expert>(gates, r.chosen) * 0.5;
  }
};

struct inputs {
  std::vector<double> x, gate, w1, w2;
};
inputs random_inputs() {
  auto some = [k = 1](std::size_t n) mutable {
    std::vector<double> v(n);
    for (double& e : v) e = std::fmod(std::abs(std::sin(k++) * 43758.5453), 1.0) * 2 - 1;
    return v;
  };
  return {some(4 * 8 * 6), some(6 * 4), some(4 * 6 * 4), some(4 * 4 * 6)};
}
template <class V>
tests::experts_defined defined(inputs const& in) {
  return tests::experts_in_loops(V::sizes, V::router, in.x, in.gate, in.w1, in.w2);
}
template <class V>
double defined_loss(inputs const& in) {
  auto const of = defined<V>(in);
  double sum = 0.1 * of.z + (V::router.by == chosen_by::experts ? 0 : 0.5 * of.balance);
  for (std::size_t i = 0; i < of.y.size(); ++i) sum += of.y[i] * weight(i);
  return sum;
}

struct outcome {
  std::vector<double> y, dx, dgate, dw1, dw2;
  double loss = 0;
  std::int64_t dropped = 0, unserved = 0;
  std::vector<mtf::collectives::event> sent;
};
template <class V, class Under>
outcome run(thread_backend& b, inputs const& in) {
  using real = mtf::place<double, typename Under::tokens, thread_backend>;
  typename with<Under>::template parameters<real::template tensor> p;
  p.x = mtf::from_global<decltype(p.x)>(b, in.x);
  p.gate = mtf::from_global<decltype(p.gate)>(b, in.gate);
  p.w1 = mtf::from_global<decltype(p.w1)>(b, in.w1);
  p.w2 = mtf::from_global<decltype(p.w2)>(b, in.w2);
  std::vector<double> w(in.x.size());
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = weight(i);
  auto const weights = mtf::from_global<decltype(p.x)>(b, w);

  outcome o;
  b.ranks().record(&o.sent);
  auto const [y, gates, logits, r] = layer<V, Under>(std::as_const(p));
  b.ranks().record(nullptr);
  o.y = mtf::to_global(y);
  if constexpr (V::router.by != chosen_by::experts) o.dropped = mtf::item(mtf::models::dropped(r));
  o.unserved = mtf::item(mtf::models::unserved(r));
  auto const [value, gradients] = mtf::value_and_grad(loss_of<V, Under>{})(std::as_const(p), weights);
  o.loss = mtf::item(value);
  o.dx = mtf::to_global(gradients.x.complete());
  o.dgate = mtf::to_global(gradients.gate.complete());
  o.dw1 = mtf::to_global(gradients.w1.complete());
  o.dw2 = mtf::to_global(gradients.w2.complete());
  return o;
}

/// NaN are where they should be.
void check_close(std::vector<double> const& found, std::vector<double> const& want, double tolerance) {
  REQUIRE(found.size() == want.size());
  int wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    bool const close = std::isnan(want[i]) ? std::isnan(found[i])
                                           : std::abs(found[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
    if (!close && wrong++ == 0) {
      CAPTURE(i);
      CHECK(found[i] == want[i]);
    }
  }
  CHECK(wrong == 0);
}

/// Central differences of the plain loops.
template <class V>
outcome differences(inputs in) {
  outcome o;
  auto const of = [&](std::vector<double>& v, std::vector<double>& d) {
    d.resize(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
      double const was = v[i], step = 1e-5;
      v[i] = was + step;
      d[i] = defined_loss<V>(in);
      v[i] = was - step;
      d[i] = (d[i] - defined_loss<V>(in)) / (2 * step);
      v[i] = was;
    }
  };
  of(in.x, o.dx), of(in.gate, o.dgate), of(in.w1, o.dw1), of(in.w2, o.dw2);
  return o;
}

using values = under<mtf::any_layout<0>, mtf::any_layout<1>, mtf::any_layout<2>>;
using alone = mtf::layout<mtf::mesh<>>;

struct layouts {
  char const *tokens, *experts, *sorted;
};
// Experts over the axis that splits groups, over one that splits no tokens, over both; d_ff split; d_model split;
// tokens split, with a layout for choosing and without.
constexpr std::array<layouts, 13> all_layouts{{
    {"", "", ""},
    {"", "expert:p", ""},
    {"batch:p", "expert:p", "batch:p"},
    {"batch:p", "batch:p;expert:q", "batch:p"},
    {"batch:p;expert:q", "batch:p;expert:q", "batch:p;expert:q"},
    {"batch:p;expert:q", "expert:p+q", "batch:p;expert:q"},
    {"batch:p+q", "expert:p+q", "batch:p+q"},
    {"batch:q+p", "batch:q;expert:p", "batch:q+p"},
    {"batch:p", "expert:p;d_ff:q", "batch:p"},
    {"batch:p;d_model:q", "expert:p;d_ff:q", "batch:p;d_model:q"},
    {"token:p", "expert:p;d_ff:q", "expert:p"},
    {"batch:p;token:q", "expert:p+q", "batch:p;expert:q"},
    {"batch:p;token:q", "expert:p+q", "batch:p;token:q"},
}};

template <class V>
void check(outcome const& found, inputs const& in, outcome const& slopes, outcome const& one) {
  auto const want = defined<V>(in);
  check_close(found.y, want.y, 1e-12);
  CHECK(found.loss == doctest::Approx(defined_loss<V>(in)).epsilon(1e-12));
  CHECK(found.dropped == want.dropped);
  CHECK(found.unserved == want.unserved);
  check_close(found.dx, slopes.dx, 1e-7), check_close(found.dx, one.dx, 1e-12);
  check_close(found.dgate, slopes.dgate, 1e-7), check_close(found.dgate, one.dgate, 1e-12);
  check_close(found.dw1, slopes.dw1, 1e-7), check_close(found.dw1, one.dw1, 1e-12);
  check_close(found.dw2, slopes.dw2, 1e-7), check_close(found.dw2, one.dw2, 1e-12);
}

template <class V, class F>
void under_all_layouts(F const& f) {
  for (auto const& l : all_layouts) {
    CAPTURE(l.tokens);
    CAPTURE(l.experts);
    CAPTURE(l.sorted);
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      auto const mesh = mtf::mesh_from("p:2;q:2");
      for (auto const* const text : {l.tokens, l.experts, l.sorted}) b.layouts().add(mtf::layout_from(mesh, text));
      f(b);
    });
  }
}
template <class V>
outcome on_one(inputs const& in) {
  outcome o;
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) { o = run<V, under<alone, alone, alone>>(b, in); });
  return o;
}
template <class V>
void as_in_loops(inputs const& in) {
  auto const slopes = differences<V>(in);
  auto const one = on_one<V>(in);
  check<V>(one, in, slopes, one);
  under_all_layouts<V>([&](thread_backend& b) { check<V>(run<V, values>(b, in), in, slopes, one); });
}

using first_come = variant<chosen_by::position, 3, 1, false>;
using pairs = variant<chosen_by::position, 4, 2, true>;
using by_gate = variant<chosen_by::gate, 3, 2, false>;
using by_experts = variant<chosen_by::experts, 2, 1, false>;
using one_slot = variant<chosen_by::position, 1, 1, false>;

TEST_CASE("one expert a token, two, those of the largest gates, and what experts choose are as in plain loops") {
  auto const in = random_inputs();
  REQUIRE(defined<first_come>(in).dropped > 0);
  REQUIRE(defined<pairs>(in).dropped > 0);
  REQUIRE(defined<by_experts>(in).unserved > 0);
  as_in_loops<first_come>(in);
  as_in_loops<pairs>(in);
  as_in_loops<by_gate>(in);
  as_in_loops<by_experts>(in);
}

TEST_CASE("a capacity of one") { as_in_loops<one_slot>(random_inputs()); }

TEST_CASE("equal gates: all tokens go to the first expert, and the others have none") {
  auto in = random_inputs();
  for (double& g : in.gate) g = 0;
  auto const want = defined<first_come>(in);
  REQUIRE(want.dropped == 4 * (8 - 3));
  under_all_layouts<first_come>([&](thread_backend& b) {
    auto const found = run<first_come, values>(b, in);
    check_close(found.y, want.y, 1e-12);
    CHECK(found.dropped == want.dropped);
    for (std::size_t i = 6 * 4; i < found.dw1.size(); ++i) CHECK(found.dw1[i] == 0);
  });
  auto const by_two = defined<by_gate>(in);
  under_all_layouts<by_gate>([&](thread_backend& b) { check_close(run<by_gate, values>(b, in).y, by_two.y, 1e-12); });
}

struct places : mtf::dim<"places", 4> {};
struct two : mtf::dim<"two", 2> {};
TEST_CASE("gates that are all 0 stay so where they are divided by their sum") {
  on_ranks_of<mtf::mesh<>>([](thread_backend& b) {
    auto const gates = mtf::zeros<mtf::place<double, alone, thread_backend>::tensor<batch, token, expert>>(b);
    auto const r = mtf::models::tokens_choose<token, expert, places, two>(gates, true);
    for (double const g : mtf::to_global(r.gate)) CHECK(g == 0);
  });
}

TEST_CASE("a gate that is NaN is one for its token alone") {
  auto in = random_inputs();
  in.x[(8 + 2) * 6] = std::numeric_limits<double>::quiet_NaN();
  auto const want = defined<pairs>(in);
  under_all_layouts<pairs>([&](thread_backend& b) { check_close(run<pairs, values>(b, in).y, want.y, 1e-12); });
  auto const of_largest = defined<by_gate>(in), of_experts = defined<by_experts>(in);
  under_all_layouts<by_gate>(
      [&](thread_backend& b) { check_close(run<by_gate, values>(b, in).y, of_largest.y, 1e-12); });
  under_all_layouts<by_experts>(
      [&](thread_backend& b) { check_close(run<by_experts, values>(b, in).y, of_experts.y, 1e-12); });
}

// Typed layouts, and what they send.
template <mtf::fixed_string Tokens, mtf::fixed_string Experts, mtf::fixed_string Sorted>
using typed = under<mtf::layout_of<"p:2;q:2", Tokens, batch, token, d_model, expert>,
                    mtf::layout_of<"p:2;q:2", Experts, batch, expert, d_ff>,
                    mtf::layout_of<"p:2;q:2", Sorted, batch, token, d_model, expert>>;

using enum mtf::collective_kind;
template <class Under>
std::vector<mtf::collectives::event> sent_forward() {
  auto const in = random_inputs();
  auto const want = defined<first_come>(in);
  std::vector<mtf::collectives::event> sent;
  on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
    auto const found = run<first_come, Under>(b, in);
    check_close(found.y, want.y, 1e-12);
    if (b.ranks().rank() == 0) sent = found.sent;
  });
  return sent;
}
constexpr std::size_t p = 1, q = 2;                       // as masks of axes
constexpr std::uint64_t slots_bytes = 4 * 4 * 3 * 6 * 8;  // of all groups, experts, slots, rows of x
constexpr std::uint64_t tokens_bytes = 4 * 8 * 6 * 8;
constexpr std::uint64_t tokens_number = 4 * 8 * 8;  // a number a token
using events = std::vector<mtf::collectives::event>;

TEST_CASE("experts over the axis that splits groups: the slots go there and back by all-to-all, nothing else is sent") {
  CHECK(sent_forward<typed<"batch:p", "expert:p", "batch:p">>() ==
        events{{all_to_all, p, slots_bytes / 2}, {all_to_all, p, slots_bytes / 2}});
  CHECK(sent_forward<typed<"batch:p+q", "expert:p+q", "batch:p+q">>() ==
        events{{all_to_all, p | q, slots_bytes / 4}, {all_to_all, p | q, slots_bytes / 4}});
}

TEST_CASE("experts over an axis that splits no tokens: gates alone are sent, and the result is partial") {
  CHECK(sent_forward<typed<"batch:p;expert:q", "batch:p;expert:q", "batch:p;expert:q">>() ==
        events{{all_reduce, q, tokens_number / 2},  // softmax, in which experts are split
               {all_reduce, q, tokens_number / 2},
               {all_gather, q, tokens_number / 2},  // the best experts' gates, and their numbers
               {all_gather, q, tokens_number / 4}});
}

TEST_CASE("experts over an axis that splits tokens: these are gathered, and a reduce-scatter brings results back") {
  CHECK(sent_forward<typed<"token:p", "expert:p", "expert:p">>() ==
        events{{all_gather, p, tokens_bytes / 2},
               {all_to_all, p, 4 * tokens_number / 2},  // all experts' gates
               {all_gather, p, tokens_number},
               {all_gather, p, tokens_number / 2},
               {reduce_scatter, p, tokens_bytes}});
}

TEST_CASE("capacities") {
  using mtf::models::expert_capacity;
  static_assert(expert_capacity(1024, 8, 1, 1.25) == 160);
  static_assert(expert_capacity(1024, 8, 2, 1) == 256);
  static_assert(expert_capacity(16, 64, 1, 1.25, 4) == 4);
  static_assert(expert_capacity(16, 64, 1, 1) == 1);
  static_assert(expert_capacity(16, 2, 2, 2) == 16);
}

TEST_CASE("jitter is the same under every layout, and within its bounds") {
  auto const in = random_inputs();
  std::vector<double> one;
  auto const shaken = [&]<class Layout>(thread_backend& b, Layout const*) {
    using X = typename mtf::place<double, Layout, thread_backend>::template tensor<batch, token, d_model>;
    return mtf::to_global(mtf::models::jitter(mtf::from_global<X>(b, in.x), 0.01, mtf::random_key(3)));
  };
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) { one = shaken(b, static_cast<alone const*>(nullptr)); });
  double furthest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) furthest = std::max(furthest, std::abs(one[i] / in.x[i] - 1));
  CHECK(furthest <= 0.01 + 1e-12);
  CHECK(furthest > 0.005);
  under_all_layouts<first_come>(
      [&](thread_backend& b) { CHECK(shaken(b, static_cast<mtf::any_layout<> const*>(nullptr)) == one); });
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
