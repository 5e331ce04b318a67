#pragma once
// What updates do, against plain loops in double, for every optimizer, element type, layout and transport: parameters
// and state of those that got a gradient change as the formulas say, in float where they are bfloat16; nothing else
// changes, neither parameters without a gradient nor memory that someone else holds; and what is sent was planned.
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>

#include "to_double.hpp"

namespace optimizer_checks {

struct batch : mtf::dim<"batch", 16> {};
struct in : mtf::dim<"in", 288> {};  // a bfloat16 matrix split over two ranks is still not small
struct wide : mtf::dim<"wide", 256> {};

template <template <class...> class Tensor>
struct network {
  Tensor<in, wide> up;
  Tensor<wide> b1;
  Tensor<wide, in> down;
  Tensor<in, wide> late;  // only loss<true> uses it
  Tensor<in, wide> idle;
  MTF_FIELDS(up, b1, down, late, idle);
};
template <bool Late>
struct loss {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const h = mtf::gelu(mtf::einsum<batch, wide>(x, p.up) + p.b1);
    if constexpr (Late)
      return end(p, h + mtf::einsum<batch, wide>(x, p.late));
    else
      return end(p, h);
  }
  static constexpr auto end(auto const& p, auto const& h) {
    auto const y = mtf::einsum<batch, in>(h, p.down);
    return mtf::mean(y * y);
  }
};

/// Of one parameter's shard.
using numbers = std::vector<double>;
struct plain_state {
  numbers first, second;
  int updates = 0;
};

struct adam {
  static constexpr mtf::adamw_options options{.beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1, .clip_norm = 0.01};
  template <class Params, class Split>
  using optimizer = mtf::adamw<Params, mtf::decay_weights, Split>;
  static void update(numbers& p, numbers const& g, plain_state& s, double rate, double decay) {
    ++s.updates;
    for (std::size_t i = 0; i < p.size(); ++i) {
      s.first[i] = options.beta1 * s.first[i] + (1 - options.beta1) * g[i];
      s.second[i] = options.beta2 * s.second[i] + (1 - options.beta2) * g[i] * g[i];
      double const m = s.first[i] / (1 - std::pow(options.beta1, s.updates));
      double const v = s.second[i] / (1 - std::pow(options.beta2, s.updates));
      p[i] -= rate * (m / (std::sqrt(v) + options.epsilon) + decay * p[i]);
    }
  }
};
template <int Tenths>
struct descent {
  static constexpr mtf::sgd_options options{.momentum = Tenths / 10.0, .weight_decay = 0.1, .clip_norm = 0.01};
  template <class Params, class Split>
  using optimizer = mtf::sgd<Params, mtf::decay_weights, Split>;
  static void update(numbers& p, numbers const& g, plain_state& s, double rate, double decay) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      s.first[i] = options.momentum * s.first[i] + g[i] + decay * p[i];
      p[i] -= rate * s.first[i];
    }
  }
};

template <class X>
numbers local(X const& x) {
  numbers out;
  for (auto const e : x.local()) out.push_back(tests::to_double(e));
  return out;
}
template <class S>
std::map<std::string, numbers> locals(S const& tensors) {
  std::map<std::string, numbers> all;
  mtf::for_each_tensor([&](auto name, auto const& x) { all[std::string(name)] = local(x); }, tensors);
  return all;
}
template <class S>
std::map<std::string, void const*> addresses(S const& tensors) {
  std::map<std::string, void const*> all;
  mtf::for_each_tensor([&](auto name, auto const& x) { all[std::string(name)] = x.value().data(); }, tensors);
  return all;
}
template <class S>
void draw(auto& machine, S& p) {
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, mtf::random_key(3).of(name), 0, 0.05);
      },
      p);
}

/// The distance of T's numbers near 1, halved: what rounding once may cost.
template <class T>
constexpr double half_unit = std::is_same_v<T, double>  ? 0x1p-53
                             : std::is_same_v<T, float> ? 0x1p-24
                                                        : 0x1p-8;

/// Four steps; from the third on `late` gets a gradient. `held`: someone keeps the parameters of before each update.
template <class Kind, class T, class Layout, class Split, class Backend>
void follows_plain_loops(Backend& machine, bool held) {
  CAPTURE(held);
  using place = mtf::place<T, Layout, Backend>;
  using parameters = network<place::template tensor>;
  parameters p;
  draw(machine, p);
  typename Kind::template optimizer<parameters, Split> optimizer(machine, Kind::options);
  std::map<std::string, plain_state> states;
  double const rate = 0.02, rounding = std::is_same_v<T, double> ? 1e-11 : 1e-5;

  auto const step = [&]<bool Late>(int n, std::bool_constant<Late>) {
    CAPTURE(n);
    auto const x = mtf::random_normal<typename place::template tensor<batch, in>>(
        machine, mtf::random_key(4).of(static_cast<std::uint64_t>(n)));
    auto const before = locals(p);
    auto const where = addresses(p);
    parameters snapshot;
    if (held) snapshot = p;

    std::vector<mtf::collectives::event> sent;
    machine.ranks().record(&sent);
    auto const [value, gradients] = mtf::value_and_grad<Split>(loss<Late>{})(p, x);
    double const norm = optimizer.update(machine, p, gradients, rate);
    machine.ranks().record(nullptr);
    // Plans are of float. (Of one rank there is nothing to compare; and GCC's undefined behaviour sanitizer, with which
    // the tests of one rank run, takes no comparison with null for a constant, its bug 71962.)
    if constexpr (std::is_same_v<T, float> && Layout::mesh_type::size > 1) {
      constexpr auto planned = mtf::plan_of<Layout, mtf::completed_gradients::later, Split>(
          loss<Late>{}, mtf::parameters<network>{}, mtf::input<float, batch, in>{});
      CHECK(sent == planned.unrolled());
    }

    double squares = 0;
    std::map<std::string, numbers> g;
    mtf::for_each_tensor(
        [&](auto name, auto const& gradient) {
          if (gradient.is_zero()) return;
          auto const whole = gradient.complete();
          g[std::string(name)] = local(whole);
          for (auto const e : mtf::to_global(whole)) squares += tests::to_double(e) * tests::to_double(e);
        },
        gradients);
    CHECK(norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-9));
    CHECK(norm > Kind::options.clip_norm);
    double const factor = Kind::options.clip_norm / (norm + 1e-6);

    auto const after = locals(p), kept = held ? locals(snapshot) : before;
    auto const now = addresses(p);
    CHECK(g.count("idle") == 0);
    CHECK(g.count("late") == (Late ? 1 : 0));
    CHECK(g.size() == (Late ? 4 : 3));
    for (auto const& [name, was] : before) {
      CAPTURE(name);
      CHECK(kept.at(name) == was);
      bool const changes = g.count(name) == 1;
      CHECK((now.at(name) == where.at(name)) == !(held && changes));
      auto want = was;
      if (changes) {
        auto& s = states[name];
        s.first.resize(want.size());
        s.second.resize(want.size());
        auto scaled = g.at(name);
        for (double& e : scaled) e *= factor;
        Kind::update(want, scaled, s, rate, name == "b1" ? 0 : Kind::options.weight_decay);
      }
      std::size_t wrong = 0, other = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        double const found = after.at(name)[i];
        bool const close = std::abs(found - want[i]) <= half_unit<T> * std::abs(want[i]) + rounding * rate;
        wrong += !close || (!changes && found != want[i]) ? 1U : 0U;
        if constexpr (std::is_same_v<T, mtf::bfloat16>) {  // rounded once: from a float close to `want`
          auto const rounded = [&](double by) { return tests::to_double(T(static_cast<float>(want[i] + by))); };
          other += found < rounded(-rounding * rate) || found > rounded(rounding * rate) ? 1U : 0U;
        }
      }
      CHECK(wrong == 0);
      CHECK(other == 0);
    }
  };
  step(0, std::false_type{});
  step(1, std::false_type{});
  step(2, std::true_type{});
  step(3, std::true_type{});
}

/// All optimizers, with whole state and with state that is split over the ranks that have other examples.
template <class T, class Layout, class Backend>
void follow_plain_loops(Backend& machine) {
  for (bool const held : {false, true}) {
    follows_plain_loops<adam, T, Layout, mtf::state_split_over<>>(machine, held);
    follows_plain_loops<adam, T, Layout, mtf::state_split_over<batch>>(machine, held);
    follows_plain_loops<descent<9>, T, Layout, mtf::state_split_over<batch>>(machine, held);
    follows_plain_loops<descent<0>, T, Layout, mtf::state_split_over<>>(machine, held);
  }
}

}  // namespace optimizer_checks
