// A layer of 8 experts, of which each token has two, beside a dense layer of as many flops: the same tokens, d_ff twice
// as wide. Each expert has as many slots as tokens come to it if all are equally busy, so slots * experts is twice the
// tokens, and the products are as large together. What experts take longer is choosing, the ways there and back, and
// smaller products. Medians, the two in turns.
//
//   OMP_NUM_THREADS=2 benchmark-experts
#include <cstdio>
#include <type_traits>
#include <vector>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/models/common/experts.hpp>
#include <mtf/mtf.hpp>

#include "../measure.hpp"

namespace {

struct group : mtf::dim<"group", 8> {};
struct token : mtf::dim<"token", 256> {};
struct d_model : mtf::dim<"d_model", 512> {};
struct expert : mtf::dim<"expert", 8> {};
struct choice : mtf::dim<"choice", 2> {};
struct d_ff : mtf::dim<"d_ff", 1024> {};
struct d_ff_dense : mtf::dim<"d_ff_dense", choice::extent * d_ff::extent> {};
struct slot : mtf::dim<"slot", mtf::models::expert_capacity(token::extent, expert::extent, choice::extent, 1)> {};

using backend = mtf::kokkos_backend<>;
using where = mtf::layout<mtf::mesh<>>;
using place = mtf::place<float, where, backend>;

template <template <class...> class Tensor>
struct of_experts {
  Tensor<group, token, d_model> x;
  Tensor<d_model, expert> router;
  Tensor<expert, d_model, d_ff> w1;
  Tensor<expert, d_ff, d_model> w2;
  MTF_FIELDS(x, router, w1, w2);
};
template <template <class...> class Tensor>
struct of_dense {
  Tensor<group, token, d_model> x;
  Tensor<d_model, d_ff_dense> w1;
  Tensor<d_ff_dense, d_model> w2;
  MTF_FIELDS(x, w1, w2);
};

constexpr auto experts_layer = [](auto const& p) {
  auto const gates = mtf::softmax<expert>(mtf::einsum<group, token, expert>(p.x, p.router));
  auto const r = mtf::models::tokens_choose<token, expert, slot, choice>(gates, true);
  auto const sent = mtf::models::dispatch<where>(p.x, r);
  auto const h = mtf::relu(mtf::einsum<group, expert, slot, d_ff>(sent, p.w1));
  return mtf::models::combine<where>(mtf::einsum<group, expert, slot, d_model>(h, p.w2), r);
};
constexpr auto dense_layer = [](auto const& p) {
  auto const h = mtf::relu(mtf::einsum<group, token, d_ff_dense>(p.x, p.w1));
  return mtf::einsum<group, token, d_model>(h, p.w2);
};

template <class Operands>
Operands drawn(backend& machine) {
  Operands all;
  mtf::for_each_tensor(
      [&](auto name, auto& t) {
        t = mtf::random_normal<std::remove_cvref_t<decltype(t)>>(machine, mtf::random_key(1).of(name), 0, 0.05);
      },
      all);
  return all;
}

/// Seconds of forward passes, and of those with their backward pass.
struct times {
  std::vector<double> forward, both;
};
// The sum ends a pass.
template <class Operands, class Layer>
void measure_once(times& t, Operands const& of, Layer const& layer) {
  t.forward.push_back(measure::seconds([&] { mtf::item(mtf::sum(layer(of))); }));
  t.both.push_back(measure::seconds([&] {
    mtf::item(mtf::value_and_grad([&](auto const& p) { return mtf::sum(mtf::square(layer(p))); })(of).value);
  }));
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const kokkos(argc, argv);
  mtf::single_rank ranks;
  backend machine(ranks);
  auto const experts = drawn<of_experts<place::tensor>>(machine);
  auto const dense = drawn<of_dense<place::tensor>>(machine);
  times of_many, of_one, unused;
  for (int i = 0; i < 16; ++i) {
    measure_once(i > 0 ? of_many : unused, experts, experts_layer);
    measure_once(i > 0 ? of_one : unused, dense, dense_layer);
  }
  auto const report = [](char const* what, std::vector<double> const& a, std::vector<double> const& b) {
    double const many = measure::median(a), one = measure::median(b);
    std::printf("  %-20s experts %8.2f ms, dense %8.2f ms, dense / experts %.2f\n", what, many * 1e3, one * 1e3,
                one / many);
  };
  std::printf("float, %d groups of %d tokens, d_model %d, %d experts of d_ff %d, %d a token\n",
              static_cast<int>(group::extent), static_cast<int>(token::extent), static_cast<int>(d_model::extent),
              static_cast<int>(expert::extent), static_cast<int>(d_ff::extent), static_cast<int>(choice::extent));
  report("forward", of_many.forward, of_one.forward);
  report("forward and backward", of_many.both, of_one.both);
}
