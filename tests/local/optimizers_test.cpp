// Optimizers on one rank: their updates, which parameters they leave alone, and whose memory they write.
#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>

#include "../models/gpt2/model.hpp"
#include "support/clip_checks.hpp"
#include "support/model_config.hpp"
#include "support/optimizer_checks.hpp"

namespace {

using namespace optimizer_checks;
using backend = mtf::kokkos_backend<>;
using layout = mtf::layout<mtf::mesh<>>;
template <class T>
using parameters_of = network<mtf::place<T, layout, backend>::template tensor>;
using parameters = parameters_of<float>;
using x_type = mtf::place<float, layout, backend>::tensor<batch, in>;

TEST_CASE_TEMPLATE("updates equal plain loops", T, float, double, mtf::bfloat16) {
  mtf::single_rank alone;
  backend machine(alone);
  follow_plain_loops<T, layout>(machine);
}

TEST_CASE_TEMPLATE("what is clipped, and what is not finite", T, float, double, mtf::bfloat16) {
  mtf::single_rank alone;
  backend machine(alone);
  clip_checks::all_clip_and_skip<T, layout, mtf::state_split_over<>>(machine);
}

template <class Optimizer, class T>
void trains(backend& machine, Optimizer optimizer, double rate) {
  parameters_of<T> p;
  draw(machine, p);
  auto const x = mtf::random_normal<typename mtf::place<T, layout, backend>::template tensor<batch, in>>(
      machine, mtf::random_key(4));
  double first = 0, last = 0;
  for (int step = 0; step < 30; ++step) {
    auto const [value, gradients] = mtf::value_and_grad(loss<true>{})(p, x);
    last = tests::to_double(mtf::item(value));
    if (step == 0) first = last;
    optimizer.update(machine, p, gradients, rate);
  }
  CHECK(last < first / 4);
}

TEST_CASE("a model of bfloat16 trains, and its state is float") {
  mtf::single_rank alone;
  backend machine(alone);
  using T = mtf::bfloat16;
  using p = parameters_of<T>;
  auto const size = static_cast<std::size_t>(4 * in::extent * wide::extent + wide::extent) * sizeof(float);
  auto const before = machine.memory().live;
  mtf::adamw<p> const adam(machine, {});
  CHECK(machine.memory().live == before + 2 * size);
  mtf::sgd<p> const momentum(machine, {.momentum = 0.9}), none(machine, {});
  trains<mtf::adamw<p>, T>(machine, adam, 1e-2);
  trains<mtf::sgd<p>, T>(machine, momentum, 0.02);
  trains<mtf::sgd<p>, T>(machine, none, 0.2);
}

// --- which parameters decay ------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("of the example's parameters those on this list decay", Tied, std::false_type, std::true_type) {
  std::set<std::string> decaying{"token_embedding", "position_embedding", "blocks.0.wq", "blocks.0.wk", "blocks.0.wv",
                                 "blocks.0.wo",     "blocks.0.w1",        "blocks.0.w2", "blocks.1.wq", "blocks.1.wk",
                                 "blocks.1.wv",     "blocks.1.wo",        "blocks.1.w1", "blocks.1.w2"};
  if (!Tied::value) decaying.insert("output.0");
  using config = model_config<model_sizes{
      .batch = 4, .sequence = 8, .d_model = 16, .heads = 2, .d_ff = 32, .vocab = 24, .tied_output = Tied::value}>;
  using model = mtf::gpt2::model<config>;
  using all = typename model::template parameters<mtf::place<double, layout, backend>::template tensor>;
  mtf::single_rank alone;
  backend machine(alone);
  all p;
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::ones<std::remove_cvref_t<decltype(x)>>(machine); }, p);
  // All gradients are 0, so decay alone changes anything.
  auto const nothing = [](auto const& q) {
    auto total = mtf::sum(q.token_embedding) * 0.0;
    mtf::for_each_tensor([&](auto, auto const& x) { total = total + mtf::sum(x) * 0.0; }, q);
    return total;
  };
  mtf::adamw<all> adam(machine, {.weight_decay = 0.5});
  mtf::sgd<all> descent(machine, {.weight_decay = 0.5});
  adam.update(machine, p, mtf::value_and_grad(nothing)(p).gradients, 0.5);
  descent.update(machine, p, mtf::value_and_grad(nothing)(p).gradients, 0.5);
  std::set<std::string> found;
  mtf::for_each_tensor(
      [&](auto name, auto const& x) {
        double const now = x.local()[0];
        CHECK((now == 1 || now == doctest::Approx(0.75 * 0.75)));
        if (now != 1) found.insert(std::string(name));
      },
      p);
  CHECK(found == decaying);
}

TEST_CASE("biases and scales are known by their last names") {
  mtf::place<float, layout, backend>::tensor<in, wide> const matrix;
  mtf::place<float, layout, backend>::tensor<in> const vector;
  for (auto const* name : {"b", "b1", "bq", "b12", "b_out", "bias", "bias1", "blocks.3.bk", "beta", "beta_f", "gamma2",
                           "scale", "norm.scale_q", "gammas"})
    CHECK_FALSE(mtf::decay_weights::decays(name, matrix));
  for (auto const* name :
       {"w", "w1", "output", "blocks.3.wq", "b1.w", "bilinear", "block", "blocks", "biased", "scaling", "embedding"})
    CHECK(mtf::decay_weights::decays(name, matrix));
  CHECK_FALSE(mtf::decay_weights::decays("w", vector));
}

// --- whose memory is written -----------------------------------------------------------------------------------------

struct training {
  mtf::single_rank alone;
  backend machine{alone};
  parameters p;
  x_type x;
  training() {
    draw(machine, p);
    x = mtf::random_normal<x_type>(machine, mtf::random_key(4));
  }
  auto gradients(parameters const& at) const { return mtf::value_and_grad(loss<true>{})(at, x).gradients; }
};

TEST_CASE("tensors that were made from a parameter stay as they are") {
  training t;
  auto const was = local(t.p.up);
  auto const teacher = t.p.up;
  auto const split_off = mtf::stop_gradient(t.p.up);
  auto const moved = mtf::relayout<layout>(t.p.up);
  std::vector<decltype(parameters::up)> kept;  // by the user's loss function
  auto const keeps = [&](auto const& q, auto const& inputs) {
    kept.push_back(q.up);
    return loss<true>{}(q, inputs);
  };
  mtf::adamw<parameters> optimizer(t.machine, {});
  for (int step = 0; step < 3; ++step) {
    auto const gradients = mtf::value_and_grad(keeps)(t.p, t.x).gradients;
    auto const before = local(t.p.up);
    optimizer.update(t.machine, t.p, gradients, 1e-2);
    CHECK(local(kept.back()) == before);
    CHECK(local(t.p.up) != before);
    CHECK(local(teacher) == was);
    CHECK(local(split_off) == was);
    CHECK(local(moved) == was);
  }
  CHECK(local(kept.front()) == was);
}

TEST_CASE("parameters that began as one tensor are two") {
  training t;
  parameters q;
  draw(t.machine, q);
  q.late = mtf::from_global<decltype(q.late)>(t.machine, mtf::to_global(q.up));
  t.p.late = t.p.up;
  mtf::sgd<parameters> one(t.machine, {.momentum = 0.9}), other(t.machine, {.momentum = 0.9});
  for (int step = 0; step < 2; ++step) {
    one.update(t.machine, t.p, t.gradients(t.p), 1e-2);
    other.update(t.machine, q, t.gradients(q), 1e-2);
  }
  CHECK(locals(t.p) == locals(q));
  CHECK(local(t.p.up) != local(t.p.late));
}

TEST_CASE_TEMPLATE("a copy of an optimizer goes its own way", Optimizer, mtf::adamw<parameters>, mtf::sgd<parameters>) {
  training t;
  auto make = [&] {
    if constexpr (std::is_same_v<Optimizer, mtf::sgd<parameters>>)
      return Optimizer(t.machine, {.momentum = 0.9});
    else
      return Optimizer(t.machine, {});
  };
  auto first = make(), control = make();
  parameters q, r;  // with memory of their own
  draw(t.machine, q);
  draw(t.machine, r);
  first.update(t.machine, t.p, t.gradients(t.p), 1e-2);
  control.update(t.machine, q, t.gradients(q), 1e-2);
  make().update(t.machine, r, t.gradients(r), 1e-2);
  REQUIRE(locals(r) == locals(q));
  auto saved = first;
  for (int step = 0; step < 3; ++step) first.update(t.machine, t.p, t.gradients(t.p), 1e-2);
  for (int step = 0; step < 3; ++step) {
    control.update(t.machine, q, t.gradients(q), 1e-2);
    saved.update(t.machine, r, t.gradients(r), 1e-2);
    CHECK(locals(r) == locals(q));
  }
  CHECK(locals(t.p) == locals(q));
}

TEST_CASE("a part of someone's memory is theirs") {
  training t;
  using X = decltype(parameters::up);
  auto const n = X::local_size;
  auto const all = mtf::backend::make_buffer<float>(t.machine, 2 * n);
  t.machine.run(mtf::primitives::fill{mtf::backend::data_of<float>(all), 2 * n, 1.0F});
  t.p.up = X(mtf::detail::value<backend, float>(mtf::backend::part_of<float>(all, n)));
  mtf::adamw<parameters> optimizer(t.machine, {});
  optimizer.update(t.machine, t.p, t.gradients(t.p), 1e-2);
  std::vector<float> found(static_cast<std::size_t>(2 * n));
  t.machine.to_host(found.data(), mtf::backend::data_of<float>(all), found.size() * sizeof(float));
  CHECK(found == std::vector<float>(found.size(), 1.0F));
  CHECK(local(t.p.up) != numbers(static_cast<std::size_t>(n), 1.0));
}

TEST_CASE_TEMPLATE("where nobody else holds them, nothing is copied", Optimizer, mtf::adamw<parameters>,
                   mtf::sgd<parameters>) {
  training t;
  Optimizer optimizer(t.machine, {.clip_norm = 1});
  auto const where = addresses(t.p);
  for (int step = 0; step < 4; ++step) {
    auto const gradients = t.gradients(t.p);
    auto const before = t.machine.memory();
    t.machine.reset_peak();
    optimizer.update(t.machine, t.p, gradients, 1e-2);
    auto const after = t.machine.memory();
    CHECK(after.live == before.live);
    CHECK(after.peak - before.live < 4096);  // the norm
    CHECK(addresses(t.p) == where);
  }
}

// --- numbers near 1 --------------------------------------------------------------------------------------------------

template <class T, template <class...> class Optimizer, class Options>
std::vector<double> state_after(Options options, int updates) {
  mtf::single_rank alone;
  backend machine(alone);
  parameters_of<T> p;
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::zeros<std::remove_cvref_t<decltype(x)>>(machine); }, p);
  Optimizer<parameters_of<T>> optimizer(machine, options);
  auto const slope = [](auto const& q) { return mtf::sum(q.up) * 0.75 + mtf::sum(q.b1) * 0.5; };
  for (int n = 0; n < updates; ++n) optimizer.update(machine, p, mtf::value_and_grad(slope)(p).gradients, 1e-3);
  std::vector<double> all;
  auto const add = [&](auto, auto const& x) {
    if constexpr (requires { x.local(); }) all.push_back(static_cast<double>(x.local()[0]));
  };
  mtf::for_each_tensor(add, p);
  optimizer.visit_state([&](auto, auto& kept) {
    if constexpr (!std::is_arithmetic_v<std::remove_cvref_t<decltype(kept)>>) mtf::for_each_tensor(add, kept);
  });
  return all;
}

/// 1 - beta is taken of the numbers that the user gave: in float, of a beta near 1, it has few digits left.
template <template <class...> class Optimizer, class Options>
void check_near_one(char const* name, Options options) {
  CAPTURE(std::string(name));
  for (int const updates : {1, 3, 40}) {
    CAPTURE(updates);
    auto const found = state_after<float, Optimizer>(options, updates),
               want = state_after<double, Optimizer>(options, updates);
    REQUIRE(found.size() == want.size());
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (want[i] != 0) worst = std::max(worst, std::abs(found[i] / want[i] - 1));
    CHECK(worst <= 3e-6);
  }
}

TEST_CASE("Adafactor may forget as Adam does") {
  auto const of = [](mtf::adafactor_options options) {
    mtf::single_rank alone;
    backend machine(alone);
    parameters_of<double> p;
    mtf::for_each_tensor([&](auto, auto& x) { x = mtf::zeros<std::remove_cvref_t<decltype(x)>>(machine); }, p);
    mtf::adafactor<parameters_of<double>> optimizer(machine, options);
    for (int n = 1; n <= 20; ++n) {
      auto const slope = [n](auto const& q) { return mtf::sum(q.b1) * n; };
      optimizer.update(machine, p, mtf::value_and_grad(slope)(p).gradients, 1e-3);
    }
    std::vector<double> all;
    optimizer.visit_state([&](auto, auto& kept) {
      if constexpr (!std::is_arithmetic_v<std::remove_cvref_t<decltype(kept)>>)
        mtf::for_each_tensor(
            [&](auto, auto const& x) {
              if constexpr (requires { x.local(); })
                if (!x.empty() && x.local()[0] != 0) all.push_back(static_cast<double>(x.local()[0]));
            },
            kept);
    });
    REQUIRE(all.size() == 1);
    return all[0];
  };
  double mean = 0, adam = 0;
  for (int n = 1; n <= 20; ++n) mean += n * n / 20.0, adam = 0.9 * adam + 0.1 * n * n;
  CHECK(of({.decay_exponent = 1}) == doctest::Approx(mean));
  CHECK(of({.beta2 = 1 - 1e-9}) == doctest::Approx(mean).epsilon(1e-6));
  CHECK(of({.beta2 = 0.9}) == doctest::Approx(adam / (1 - std::pow(0.9, 20))));
}

TEST_CASE("decays near 1 are as exact in float as in double") {
  check_near_one<mtf::adamw>("adamw", mtf::adamw_options{.beta1 = 0.9999, .beta2 = 0.99999});
  check_near_one<mtf::adam>("adam", mtf::adam_options{.beta1 = 0.9999, .beta2 = 0.99999});
  check_near_one<mtf::lion>("lion", mtf::lion_options{.beta1 = 0.9999, .beta2 = 0.99999});
  check_near_one<mtf::adafactor>("adafactor", mtf::adafactor_options{.decay_exponent = 14});
  check_near_one<mtf::sgd>("sgd", mtf::sgd_options{.momentum = 0.9999});
  check_near_one<mtf::momentum>("momentum", mtf::momentum_options{.momentum = 0.9999});

  training t;
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::zeros<std::remove_cvref_t<decltype(x)>>(t.machine); }, t.p);
  mtf::moving_average<parameters> average(t.machine, t.p, 0.99999);
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::ones<std::remove_cvref_t<decltype(x)>>(t.machine); }, t.p);
  average.update(t.machine, t.p);
  CHECK(static_cast<double>(average.parameters().up.local()[0]) == doctest::Approx(1e-5).epsilon(1e-6));
  // And it forgets as slowly: what is always the same is its own average.
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::full<std::remove_cvref_t<decltype(x)>>(t.machine, 0.3); }, t.p);
  mtf::moving_average<parameters> same(t.machine, t.p, 0.99999);
  for (int n = 0; n < 1000; ++n) same.update(t.machine, t.p);
  CHECK(same.parameters().up.local()[0] == 0.3F);
}

}  // namespace
