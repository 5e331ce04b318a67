#pragma once
// Clipping, and gradients whose norm is not finite, for every optimizer: clipped gradients update as smaller ones
// would, to the last bit, and where the norm is not finite parameters, state and counts stay as they are: later updates
// are as if there had been no such gradients.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>

#include "optimizer_checks.hpp"
#include "to_double.hpp"

namespace clip_checks {

using optimizer_checks::network, optimizer_checks::batch, optimizer_checks::in;

/// All but `down` are updated.
struct down_is_frozen {
  static bool decays(std::string_view name, auto const& x) { return mtf::decay_weights::decays(name, x); }
  static bool frozen(std::string_view name) { return name == "down"; }
};

/// The bits of all that there is: of parameters, of what is kept for them, and the counts.
template <class Params, class Optimizer>
std::vector<std::uint64_t> bits_of(Params const& p, Optimizer& optimizer) {
  std::vector<std::uint64_t> all;
  auto const add = [&](auto, auto const& x) {
    if constexpr (requires { x.local(); }) {
      if (!x.empty())
        for (auto const e : x.local()) all.push_back(std::bit_cast<std::uint64_t>(tests::to_double(e)));
    } else if constexpr (requires { x.value; }) {
      all.push_back(static_cast<std::uint64_t>(x.value));
    }
  };
  mtf::for_each_tensor(add, p);
  optimizer.visit_state([&](auto, auto& kept) { mtf::for_each_tensor(add, kept); });
  return all;
}

template <template <class, class, class> class Optimizer, class T, class Layout, class Split, class Options,
          class Backend>
void clips_and_skips(Backend& machine, Options options) {
  using place = mtf::place<T, Layout, Backend>;
  using parameters = network<place::template tensor>;
  using optimizer = Optimizer<parameters, down_is_frozen, Split>;
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  auto const x = mtf::random_normal<typename place::template tensor<batch, in>>(machine, mtf::random_key(4));
  auto const gradients_of = [&]<bool Late>(parameters const& p, double by, std::bool_constant<Late>) {
    auto const scaled = [by](auto const& q, auto const& inputs) {
      return optimizer_checks::loss<Late>{}(q, inputs) * by;
    };
    return mtf::value_and_grad<Split>(scaled)(p, x).gradients;
  };
  std::false_type const first{};
  std::true_type const late{};

  parameters p, q;
  optimizer_checks::draw(machine, p);
  optimizer_checks::draw(machine, q);
  double const rate = 0.02, norm = mtf::global_norm<Split>(machine, gradients_of(p, 1, first));
  REQUIRE(std::isfinite(norm));
  options.clip_norm = 0;
  optimizer smaller(machine, options);
  options.clip_norm = (norm + 1e-6) / 4;
  optimizer clipped(machine, options);

  auto const is_skipped = [&](double by, auto which) {
    CAPTURE(by);
    auto const before = bits_of(p, clipped);
    auto const where = optimizer_checks::addresses(p);
    auto const gradients = gradients_of(p, by, which);
    CHECK_FALSE(std::isfinite(clipped.update(machine, p, gradients, rate)));
    CHECK(bits_of(p, clipped) == before);
    if (std::is_same_v<Split, mtf::state_split_over<>>) CHECK(optimizer_checks::addresses(p) == where);
    auto const held = p;
    clipped.update(machine, p, gradients, rate);
    CHECK(bits_of(p, clipped) == before);
    CHECK(bits_of(held, clipped) == before);
  };
  is_skipped(infinity, first);
  CHECK(clipped.update(machine, p, gradients_of(p, 1, first), rate) == norm);
  CHECK(smaller.update(machine, q, gradients_of(q, 0.25, first), rate) == norm / 4);
  CHECK(bits_of(p, clipped) == bits_of(q, smaller));
  is_skipped(nan, late);                                    // `late` would have had its first update
  if (std::is_same_v<T, double>) is_skipped(1e200, first);  // the gradients are finite, their norm is not
  for (int step = 0; step < 2; ++step) {
    double const found = clipped.update(machine, p, gradients_of(p, 0x1p-8, late), rate);
    CHECK(found < options.clip_norm);  // and nothing is clipped
    CHECK(smaller.update(machine, q, gradients_of(q, 0x1p-8, late), rate) == found);
    CHECK(bits_of(p, clipped) == bits_of(q, smaller));
    is_skipped(-infinity, late);
  }
}

/// All optimizers.
template <class T, class Layout, class Split, class Backend>
void all_clip_and_skip(Backend& machine) {
  clips_and_skips<mtf::adamw, T, Layout, Split>(machine, mtf::adamw_options{});
  clips_and_skips<mtf::adam, T, Layout, Split>(machine, mtf::adam_options{.weight_decay = 0.1});
  clips_and_skips<mtf::sgd, T, Layout, Split>(machine, mtf::sgd_options{.momentum = 0.9, .weight_decay = 0.1});
  clips_and_skips<mtf::momentum, T, Layout, Split>(machine, mtf::momentum_options{});
  clips_and_skips<mtf::lion, T, Layout, Split>(machine, mtf::lion_options{.weight_decay = 0.1});
  clips_and_skips<mtf::adafactor, T, Layout, Split>(machine, mtf::adafactor_options{});
}

}  // namespace clip_checks
