// The training step of a two-layer network, data-parallel over RANKS ranks, written twice: with mtf, and by hand with
// oneDNN, OpenMP and MPI. The steps alternate; both start from the same numbers and must end at the same losses. Usage:
// hand-written [steps]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>

#include "../measure.hpp"
#include "by_hand.hpp"

namespace {

struct batch : mtf::dim<"batch", 1024> {};
struct in : mtf::dim<"in", 1024> {};
struct hidden : mtf::dim<"hidden", 4096> {};
struct out : mtf::dim<"out", 1024> {};
struct data : mtf::axis<"data", RANKS> {};
using where = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;
using backend = mtf::kokkos_backend<>;
using real = mtf::place<float, where, backend>;

template <template <class...> class Tensor>
struct mlp {
  Tensor<in, hidden> w1;
  Tensor<hidden> b1;
  Tensor<hidden, out> w2;
  Tensor<out> b2;
  MTF_FIELDS(w1, b1, w2, b2);
};

struct bias_relu {
  MTF_FUNCTION auto operator()(auto x, auto bias) const { return mtf::math::max(x + bias, 0.0F); }
};
struct squared_error {
  MTF_FUNCTION auto operator()(auto y, auto bias, auto target) const {
    auto const d = y + bias - target;
    return d * d;
  }
};

constexpr auto loss = [](auto const& p, auto const& x, auto const& t) {
  auto const h = mtf::map(bias_relu{}, mtf::einsum<batch, hidden>(x, p.w1), p.b1);
  return mtf::mean(mtf::map(squared_error{}, mtf::einsum<batch, out>(h, p.w2), p.b2, t));
};
constexpr auto plan =
    mtf::plan_of<where>(loss, mtf::parameters<mlp>{}, mtf::input<float, batch, in>{}, mtf::input<float, batch, out>{});

int run(backend& machine, int steps) {
  using parameters = mlp<real::tensor>;
  mtf::random_key const seed(1);
  parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_normal<std::remove_reference_t<decltype(x)>>(machine, seed.of(name), 0, 0.02);
      },
      p);
  auto const x = mtf::random_normal<real::tensor<batch, in>>(machine, seed.of("x"));
  auto const t = mtf::random_normal<real::tensor<batch, out>>(machine, seed.of("t"));
  mtf::sgd<parameters> optimizer(machine, {.momentum = 0.9});
  auto const gradient = mtf::value_and_grad(loss);

  by_hand::training other(batch::extent / RANKS, in::extent, hidden::extent, out::extent);
  auto const copy = [](auto const& tensor, float* to) { std::ranges::copy(tensor.local(), to); };
  copy(p.w1, other.w1());
  copy(p.b1, other.b1());
  copy(p.w2, other.w2());
  copy(p.b2, other.b2());
  auto const rows = x.local(), targets = t.local();

  double mine = 0, theirs = 0, difference = 0;
  auto const with_mtf = [&] {
    auto const [value, gradients] = gradient(p, x, t);
    optimizer.update(machine, p, gradients, 0.1);
    mine = mtf::item(value);
  };
  auto const by_hand = [&] { theirs = other.step(rows.data(), targets.data(), 0.1F, 0.9F).loss; };
  auto const timed = [&](auto const& step) {
    machine.ranks().barrier();
    return measure::seconds([&] {
      step();
      machine.ranks().barrier();
    });
  };
  std::vector<double> times_mtf, times_hand, ratios;
  for (int i = 0; i < steps + 2; ++i) {
    double const a = timed(with_mtf), b = timed(by_hand);
    difference = std::max(difference, std::abs(mine - theirs) / theirs);
    if (i < 2) continue;
    times_mtf.push_back(a);
    times_hand.push_back(b);
    ratios.push_back(b / a);
  }
  if (machine.ranks().rank() == 0) {
    double const flops = plan.flops() * RANKS;
    double const a = measure::median(times_mtf), b = measure::median(times_hand);
    std::printf("%d rank(s), %d thread(s) each, %d steps of each\n", RANKS, backend::execution_space().concurrency(),
                steps);
    std::printf(
        "with mtf %.1f ms (%.1f GFLOP/s), by hand %.1f ms (%.1f GFLOP/s): mtf has %.3f of its speed (step by step "
        "%.3f)\n",
        1e3 * a, flops / a / 1e9, 1e3 * b, flops / b / 1e9, b / a, measure::median(ratios));
    std::printf("loss %.6f and %.6f; largest relative difference on the way %.1e\n", mine, theirs, difference);
  }
  return difference < 1e-3 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 15;
  return mtf::run<where::mesh_type, backend>(argc, argv,
                                             [&](backend& machine) { return run(machine, std::max(1, steps)); });
}
