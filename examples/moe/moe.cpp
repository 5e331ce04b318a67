// A layer of experts learns data of eight kinds, each of which has a function of its own: in time each expert has a
// kind for itself. Ranks split the groups of tokens, and the same ranks split the experts: tokens travel by all-to-all.
// Launch it with: mpirun -n 1, 2, 4 or 8 moe [options]
#include <mtf/kokkos.hpp>
#include <mtf/models/common/experts.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

struct group : mtf::dim<"group", 8> {};   // of tokens, in each of which experts have their slots
struct token : mtf::dim<"token", 64> {};  // of a group
struct kind : mtf::dim<"kind", 8> {};     // of data
struct input : mtf::dim<"input", 8> {};
struct output : mtf::dim<"output", 8> {};
struct d_model : mtf::dim<"d_model", 16> {};
struct expert : mtf::dim<"expert", 8> {};
struct d_ff : mtf::dim<"d_ff", 16> {};
struct choice : mtf::dim<"choice", 1> {};  // one expert a token: a Switch
struct slot : mtf::dim<"slot", mtf::models::expert_capacity(64, 8, 1, 2)> {};

// Two layouts of one mesh, which are values: of everything, and of the experts' weights.
using where = mtf::any_layout<0>;
using by_expert = mtf::any_layout<1>;
using backend = mtf::kokkos_backend<>;
using real = mtf::place<float, where, backend>;

struct options {
  int steps = 400;
  double rate = 1e-2, balance = 1, jitter = 1e-2, expect = 0;
  std::uint64_t seed = 1;
  std::string mesh, layout, experts, log;
};

template <template <class...> class Tensor>
struct model {
  Tensor<input, d_model> in;
  Tensor<d_model, expert> router;
  Tensor<mtf::under<by_expert>, expert, d_model, d_ff> w1;
  Tensor<mtf::under<by_expert>, expert, d_ff, d_model> w2;
  Tensor<d_model, output> out;
  MTF_FIELDS(in, router, w1, w2, out);
};

// x [group, token, input] -> the output, and what the router did
auto predicted(auto const& p, auto const& x, auto const& shaken) {
  auto const h = mtf::einsum<group, token, d_model>(x, p.in);
  auto const logits = mtf::einsum<group, token, expert>(shaken(h), p.router);
  auto const gates = mtf::softmax<expert>(logits);
  auto const r = mtf::models::tokens_choose<token, expert, slot, choice>(gates);
  auto const sent = mtf::models::dispatch<by_expert>(h, r);  // all-to-all
  auto const inside = mtf::relu(mtf::einsum<group, expert, slot, d_ff>(sent, p.w1));
  auto const made = mtf::einsum<group, expert, slot, d_model>(inside, p.w2);
  auto const mixed = mtf::models::combine<where>(made, r);  // all-to-all
  auto const balance = mtf::models::load_balance_loss<expert>(gates, r.chosen);
  return std::tuple(mtf::einsum<group, token, output>(mixed, p.out), balance, r);
}

// Kinds are clusters, each around a centre of its own; what is to be learned is another linear map for each.
struct batch_of_data {
  real::tensor<group, token, input> x;
  real::tensor<group, token, output> y;
  mtf::place<std::int32_t, where, backend>::tensor<group, token> kinds;
};
batch_of_data drawn(backend& machine, mtf::random_key data, mtf::random_key step) {
  auto const centres = mtf::random_normal<real::tensor<kind, input>>(machine, data.of("centres"), 0, 1.5);
  auto const maps = mtf::random_normal<real::tensor<kind, input, output>>(machine, data.of("maps"), 0, 0.5);
  auto const u = mtf::random_uniform<real::tensor<group, token>>(machine, step.of("kinds"), 0, kind::extent);
  auto const kinds = mtf::cast<std::int32_t>(mtf::floor(u));
  auto const noise = mtf::random_normal<real::tensor<group, token, input>>(machine, step.of("noise"), 0, 0.5);
  auto const x = mtf::embedding<kind>(centres, kinds) + noise;
  return {x, mtf::einsum<group, token, output>(x, mtf::embedding<kind>(maps, kinds)), kinds};
}

// How much of a token's kind its expert tells: their mutual information over that of kinds alone. 0: nothing, as with
// one expert for all; 1: each kind has experts for itself.
double specialisation(std::vector<double> const& counts) {
  constexpr auto kinds = static_cast<std::size_t>(kind::extent), experts = static_cast<std::size_t>(expert::extent);
  double all = 0, both = 0, alone = 0;
  std::vector<double> of_kind(kinds), of_expert(experts);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    of_kind[i / experts] += counts[i];
    of_expert[i % experts] += counts[i];
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      both += counts[i] / all * std::log(counts[i] * all / (of_kind[i / experts] * of_expert[i % experts]));
  for (double const n : of_kind)
    if (n > 0) alone -= n / all * std::log(n / all);
  return both / alone;
}

int train(backend& machine, options const& o) {
  mtf::random_key const seed(o.seed);
  bool const speaks = machine.ranks().rank() == 0;
  std::FILE* const log = speaks && !o.log.empty() ? std::fopen(o.log.c_str(), "w") : nullptr;
  if (speaks && !o.log.empty() && log == nullptr) throw mtf::user_error(o.log + " cannot be written");

  auto p = mtf::sized<model<real::tensor>>(machine);
  mtf::for_each_tensor(
      [&](auto name, auto& w) {
        w = mtf::random_normal<std::remove_reference_t<decltype(w)>>(machine, seed.of(name), 0, 0.3);
      },
      p);
  mtf::adamw<model<real::tensor>, mtf::decay_weights> optimizer(machine, {.weight_decay = 0});
  auto const step = mtf::value_and_grad([&](auto const& q, auto const& x, auto const& y, mtf::random_key key) {
    auto const shaken = [&](auto const& h) { return mtf::models::jitter(h, o.jitter, key); };
    auto const [found, balance, r] = predicted(q, x, shaken);
    return mtf::mean(mtf::square(found - y)) + balance * static_cast<float>(o.balance);
  });

  double now = 0;
  for (int i = 0; i <= o.steps; ++i) {
    auto const [x, y, kinds] = drawn(machine, seed.of("data"), seed.of("step").of(static_cast<std::uint64_t>(i)));
    auto const [value, gradients] = step(std::as_const(p), x, y, seed.of("jitter").of(static_cast<std::uint64_t>(i)));
    double const loss = mtf::item(value);
    if (log != nullptr) std::fprintf(log, "{\"step\": %d, \"loss\": %.9g}\n", i, loss);
    if (i % 50 == 0 || i == o.steps) {
      auto const [found, balance, r] = predicted(std::as_const(p), x, [](auto const& h) { return h; });
      auto const counts = mtf::einsum<kind, expert>(mtf::one_hot<kind>(kinds), mtf::cast<float>(r.chosen));
      auto const counted = mtf::to_global(counts);
      now = specialisation(std::vector<double>(counted.begin(), counted.end()));
      double const error = mtf::item(mtf::mean(mtf::square(found - y)));
      double const even = mtf::item(balance);
      auto const dropped = static_cast<long long>(mtf::item(mtf::models::dropped(r)));
      if (speaks)
        std::printf("step %4d  loss %.4f  error %.4f  specialisation %.3f  balance %.3f  dropped %lld of %lld\n", i,
                    loss, error, now, even, dropped, static_cast<long long>(group::extent * token::extent));
    }
    optimizer.update(machine, p, gradients, o.rate);
  }
  if (log != nullptr && std::fclose(log) != 0) throw mtf::user_error(o.log + " cannot be written");
  return now < o.expect ? 1 : 0;
}

int main(int argc, char** argv) {
  options o;
  CLI::App app("A layer of experts learns data of eight kinds, of which each has a function of its own.");
  app.add_option("--steps", o.steps, "updates")->capture_default_str()->check(CLI::Range(0, 1000000));
  app.add_option("--rate", o.rate, "the learning rate")->capture_default_str();
  app.add_option("--balance", o.balance, "weight of the loss that keeps experts equally busy")->capture_default_str();
  app.add_option("--jitter", o.jitter, "noise of the router's input")->capture_default_str();
  app.add_option("--seed", o.seed, "of all random numbers")->capture_default_str();
  app.add_option("--mesh", o.mesh, "the ranks' axes, as data:2;model:2; otherwise all:N");
  app.add_option("--layout", o.layout, "how tensors are split; otherwise group:all");
  app.add_option("--experts", o.experts, "how the experts' weights are split; otherwise expert:all");
  app.add_option("--expect", o.expect, "exit code 1 if specialisation is lower at the end")->capture_default_str();
  app.add_option("--log", o.log, "a file for the losses of all steps, a line of JSON for each");
  std::string wrong;
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    wrong = e.what();
  }
  auto const layouts = [&](int ranks) {
    if (!wrong.empty()) throw mtf::user_error(wrong);  // which is then said once, not by each rank
    bool const given = !o.mesh.empty();
    auto const mesh = mtf::mesh_from(given ? o.mesh : "all:" + std::to_string(ranks));
    auto const under = [&](std::string const& rules, char const* otherwise) {
      return mtf::layout_from<group, token, expert, d_model, d_ff>(mesh, given || !rules.empty() ? rules : otherwise);
    };
    return std::vector{under(o.layout, "group:all"), under(o.experts, "expert:all")};
  };
  return mtf::run_under<backend>(argc, argv, layouts, [&](backend& machine) { return train(machine, o); });
}
