#pragma once
// A small training run on two ranks, for tests of the loop.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>
#include <mtf/train/loop.hpp>

namespace {

namespace fs = std::filesystem;
using backend = mtf::kokkos_backend<Kokkos::Serial>;
struct batch : mtf::dim<"batch", 8> {};
struct in : mtf::dim<"in", 6> {};
struct out : mtf::dim<"out", 4> {};
struct data : mtf::axis<"data", 2> {};
using where = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;
using real = mtf::place<float, where, backend>;

template <template <class...> class Tensor>
struct linear {
  Tensor<in, out> w;
  MTF_FIELDS(w);
};
using parameters = linear<real::tensor>;
using examples = real::tensor<batch, in>;
constexpr auto loss = [](auto const& p, auto const& x) {
  return mtf::mean(mtf::square(mtf::einsum<batch, out>(x, p.w) - 1));
};

std::vector<nlohmann::json> lines_of(std::string const& path) {
  std::ifstream from(path);
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(from, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

struct ended {
  int code = -1;
  std::string error;
  std::vector<float> w;
  std::vector<std::pair<int, double>> evaluations;
};
/// Trains on a rank, by an `Optimizer`. `factor(n)` scales the examples of step n.
template <class Optimizer = mtf::adamw<parameters>, class Factor>
ended train_on(mtf::collectives& ranks, mtf::loop_options const& o, Factor const& factor) {
  backend machine = backend::one_of_many(ranks);
  mtf::random_key const key(7);
  parameters p{mtf::random_normal<real::tensor<in, out>>(machine, key.of("w"))};
  Optimizer optimizer(machine, {});
  auto const x = [&](int n) {
    return mtf::random_normal<examples>(machine, key.of("x").of(static_cast<std::uint64_t>(n))) * factor(n);
  };
  auto with = o;
  with.learning_rate = [](int) { return 0.02; };
  if (o.evaluate) with.evaluate = [&] { return o.evaluate() + double{mtf::item(loss(p, x(1000)))}; };
  ended mine;
  try {
    mtf::training_loop loop(machine, p, optimizer, with);
    mine.code = loop.run(x, [](auto const& q, auto const& b, int) { return mtf::value_and_grad(loss)(q, b); });
    mine.evaluations = loop.evaluations();
  } catch (mtf::user_error const& why) {
    mine.error = why.what();
  }
  mine.w = mtf::to_global(p.w);
  return mine;
}
/// The same on two ranks; what came of it on the first.
template <class Optimizer = mtf::adamw<parameters>, class Factor>
ended train(mtf::loop_options const& o, Factor const& factor) {
  ended e;
  mtf::rank_threads pool(2);
  pool.run(
      where::mesh_type::shape(),
      [&](mtf::collectives& ranks) {
        auto const mine = train_on<Optimizer>(ranks, o, factor);
        if (ranks.rank() == 0) e = mine;
      },
      where::mesh_type::text());
  return e;
}
constexpr auto always_one = [](int) { return 1.0F; };

}  // namespace
