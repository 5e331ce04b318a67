// A mixture of experts (Shazeer et al. 2017; each token to one expert: Fedus et al. 2021). Ranks share out the batch;
// the same ranks share out the experts: tokens travel by all-to-all.
#include "on_ranks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <mtf/models/common/experts.hpp>

namespace {

struct batch : mtf::dim<"batch", 4> {};
struct token : mtf::dim<"token", 6> {};
struct expert : mtf::dim<"expert", 4> {};
struct choice : mtf::dim<"choice", 1> {};  // a token goes to so many experts
struct slot : mtf::dim<"slot", 2> {};      // an expert takes so many tokens of each sequence, the first that choose it
struct d_model : mtf::dim<"d_model", 5> {};
struct d_ff : mtf::dim<"d_ff", 8> {};
struct all : mtf::axis<"all", 2> {};

using where = mtf::layout<mtf::mesh<all>, mtf::split<batch, all>>;
using by_expert = mtf::layout<mtf::mesh<all>, mtf::split<expert, all>>;

template <template <class...> class Tensor>
struct mixture {
  Tensor<d_model, expert> gate;                             // under the program's layout: replicated
  Tensor<mtf::under<by_expert>, expert, d_model, d_ff> w1;  // under a layout of their own: each rank has two experts
  Tensor<mtf::under<by_expert>, expert, d_ff, d_model> w2;
  MTF_FIELDS(gate, w1, w2);
};

// x [batch, token, d_model] -> the same
constexpr auto mixed = [](auto const& p, auto const& x) {
  auto const gates = mtf::softmax<expert>(mtf::einsum<batch, token, expert>(x, p.gate));
  auto const r = mtf::models::tokens_choose<token, expert, slot, choice>(gates);
  auto const sent = mtf::models::dispatch<by_expert>(x, r);  // all-to-all; [batch, expert, slot, d_model]
  auto const h = mtf::relu(mtf::einsum<batch, expert, slot, d_ff>(sent, p.w1));
  return mtf::models::combine<where>(mtf::einsum<batch, expert, slot, d_model>(h, p.w2), r);  // all-to-all
};

constexpr auto loss = [](auto const& p, auto const& x) { return mtf::mean(mtf::square(mixed(p, x))); };
constexpr auto plan = mtf::plan_of<where>(loss, mtf::parameters<mixture>{}, mtf::input<float, batch, token, d_model>{});
constexpr auto forward_all_to_alls = [](mtf::planned_collective const& c) {
  return c.kind == mtf::collective_kind::all_to_all && c.when == mtf::pass::forward;
};
static_assert(plan.count(forward_all_to_alls) == 2);
// Each expert is on one rank, so its gradient is whole: the all-reduces are those of the loss, of the gate's gradient
// and of the gradients' norm.
static_assert(plan.count(mtf::collective_kind::all_reduce) == 3);

using backend = recipes::backend;
using real = mtf::place<float, where, backend>;
using parameters = mixture<real::tensor>;
static_assert(decltype(parameters::w1)::local_size == 2 * d_model::extent * d_ff::extent);

parameters random_parameters(backend& machine) {
  parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& w) {
        w = mtf::random_normal<std::remove_reference_t<decltype(w)>>(machine, mtf::random_key(3).of(name));
      },
      p);
  return p;
}

struct counted {
  std::vector<float> y;
  int dropped = 0;
};
// The same in plain loops: token after token goes to its expert, until that is full.
counted in_plain_loops(std::vector<float> const& x, std::vector<float> const& gate, std::vector<float> const& w1,
                       std::vector<float> const& w2) {
  constexpr std::size_t tokens = token::extent, experts = expert::extent, width = d_model::extent, ff = d_ff::extent;
  counted result{std::vector<float>(x.size()), 0};
  for (std::size_t b = 0; b < batch::extent; ++b) {
    std::array<int, experts> taken{};
    for (std::size_t t = 0; t < tokens; ++t) {
      float const* from = &x[(b * tokens + t) * width];
      std::array<double, experts> weight{};
      double sum = 0;
      for (std::size_t e = 0; e < experts; ++e) {
        double logit = 0;
        for (std::size_t d = 0; d < width; ++d) logit += from[d] * gate[d * experts + e];
        sum += weight[e] = std::exp(logit);
      }
      auto const e = static_cast<std::size_t>(std::max_element(weight.begin(), weight.end()) - weight.begin());
      if (taken[e]++ >= slot::extent) {
        ++result.dropped;
        continue;
      }
      for (std::size_t f = 0; f < ff; ++f) {
        double h = 0;
        for (std::size_t d = 0; d < width; ++d) h += from[d] * w1[(e * width + d) * ff + f];
        for (std::size_t d = 0; d < width && h > 0; ++d)
          result.y[(b * tokens + t) * width + d] +=
              static_cast<float>(weight[e] / sum * h * w2[(e * ff + f) * width + d]);
      }
    }
  }
  return result;
}

TEST_CASE("a mixture of experts is what plain loops give, full experts included") {
  recipes::on_ranks<where>([](backend& machine) {
    auto const p = random_parameters(machine);
    auto const x = recipes::random<real::tensor<batch, token, d_model>>(machine, "x");
    auto const want =
        in_plain_loops(mtf::to_global(x), mtf::to_global(p.gate), mtf::to_global(p.w1), mtf::to_global(p.w2));
    CHECK(want.dropped > 0);
    CHECK(want.dropped < 12);
    recipes::check_close(mtf::to_global(mixed(p, x)), want.y, 1e-4);
  });
}

TEST_CASE("the gradients of a mixture of experts are those of differences") {
  recipes::on_ranks<where>([](backend& machine) {
    auto const p = random_parameters(machine);
    auto const x = recipes::random<real::tensor<batch, token, d_model>>(machine, "x");
    auto const gradients = mtf::value_and_grad(loss)(p, x).gradients;
    double const norm = mtf::global_norm(machine, gradients), step = 1e-3 / norm;
    auto const loss_after = [&](double by) {
      auto moved = p;
      mtf::for_each_tensor([&](auto, auto& w, auto const& g) { w = w + by * g.complete(); }, moved, gradients);
      return static_cast<double>(mtf::item(loss(moved, x)));
    };
    CHECK((loss_after(step) - loss_after(-step)) / (2 * step) == doctest::Approx(norm * norm).epsilon(1e-2));
  });
}

TEST_CASE("a mixture of experts learns, and sends what is planned") {
  recipes::on_ranks<where>([](backend& machine) {
    auto p = random_parameters(machine);
    auto const x = recipes::random<real::tensor<batch, token, d_model>>(machine, "x");
    mtf::adamw<parameters> optimizer(machine, {});
    std::vector<double> losses;
    for (int step = 0; step < 30; ++step) {
      std::vector<mtf::collectives::event> sent;
      machine.ranks().record(&sent);
      auto const [value, gradients] = mtf::value_and_grad(loss)(p, x);
      optimizer.update(machine, p, gradients, 1e-2);
      machine.ranks().record(nullptr);
      CHECK(sent == plan.unrolled());
      losses.push_back(mtf::item(value));
    }
    CHECK(losses.back() < losses.front() / 2);
  });
}

}  // namespace
