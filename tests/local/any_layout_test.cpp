// A layout as a value, on the default backend and one rank: what the typed program computes, to the bit. (Many ranks:
// threads.any_layout and the sweep; this is also what compilers for devices see of it.)
#include <cstdint>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

namespace {

struct batch : mtf::dim<"batch", 6> {};
struct wide : mtf::dim<"wide", 8> {};
struct inner : mtf::dim<"inner", 10> {};
struct classes : mtf::dim<"classes", 5> {};
using backend = mtf::kokkos_backend<>;

template <template <class...> class Tensor>
struct mlp {
  Tensor<wide> gamma, beta;
  Tensor<wide, inner> w1;
  Tensor<inner> b1;
  Tensor<inner, classes> w2;
  MTF_FIELDS(gamma, beta, w1, b1, w2);
};

struct outcome {
  std::vector<float> losses, gradient, updated;
};

template <class Layout>
outcome train(backend& machine) {
  using real = mtf::place<float, Layout, backend>;
  using parameters = mlp<real::template tensor>;
  mtf::random_key const key(3);
  parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) { x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, key.of(name)); }, p);
  auto const x = mtf::random_normal<typename real::template tensor<batch, wide>>(machine, key.of("x"));
  using labels = typename mtf::place<std::int32_t, Layout, backend>::template tensor<batch>;
  auto const label = mtf::from_global<labels, classes>(machine, std::vector<std::int32_t>{0, 3, 4, 1, 1, 2});
  mtf::adamw<parameters> optimizer(machine, {});
  outcome out;
  for (int step = 0; step < 3; ++step) {
    auto const [value, gradients] = mtf::value_and_grad([](auto const& q, auto const& in, auto const& of) {
      auto const h = mtf::relu(mtf::linear<batch, inner>(mtf::layer_norm<wide>(in, q.gamma, q.beta), q.w1, q.b1));
      return mtf::mean(mtf::cross_entropy<classes>(mtf::einsum<batch, classes>(h, q.w2), of));
    })(p, x, label);
    out.losses.push_back(mtf::item(value));
    out.gradient = mtf::to_global(gradients.w1.complete());
    optimizer.update(machine, p, gradients, 1e-2);
  }
  out.updated = mtf::to_global(p.w2);
  return out;
}

template <class Layout>
std::vector<float> normed_twice(backend& machine) {
  using real = mtf::place<float, Layout, backend>;
  mtf::random_key const key(4);
  auto const x = mtf::random_normal<typename real::template tensor<batch, wide>>(machine, key.of("x"));
  auto const gamma = mtf::random_normal<typename real::template tensor<wide>>(machine, key.of("gamma"));
  auto const centered = mtf::layer_norm<wide>(x, gamma, gamma);
  return mtf::to_global(centered - mtf::rms_norm<wide>(x, gamma));
}

}  // namespace

TEST_CASE("a program by value computes what the typed one does") {
  mtf::single_rank ranks(mtf::mesh_of<"one:1">::shape());
  backend machine(ranks);
  auto const want = train<mtf::layout_of<"one:1", "batch:one", batch>>(machine);
  machine.layouts().add(mtf::layout_from<batch, wide, inner, classes>(mtf::mesh_from("one:1"), "batch:one"));
  auto const found = train<mtf::any_layout<>>(machine);
  CHECK(found.losses == want.losses);
  CHECK(found.gradient == want.gradient);
  CHECK(found.updated == want.updated);
  CHECK(want.losses[2] < want.losses[0]);
}

TEST_CASE("a rule for other numbers of operands is derived anew") {
  mtf::single_rank ranks(mtf::mesh_of<"one:1">::shape());
  backend typed(ranks), machine(ranks);
  machine.layouts().add(mtf::layout_from<batch, wide>(mtf::mesh_from("one:1"), ""));
  CHECK(normed_twice<mtf::any_layout<>>(machine) == normed_twice<mtf::layout_of<"one:1", "", batch, wide>>(typed));
}

TEST_CASE("a backend that is given other layouts works under these") {
  mtf::single_rank ranks(mtf::mesh_of<"one:1">::shape());
  backend machine(ranks);
  auto const mesh = mtf::mesh_from("one:1");
  auto const whole = mtf::layout_from<batch, wide>(mesh, "");
  machine.layouts().add(whole);
  machine.layouts().add(whole);
  auto const x = mtf::zeros<mtf::place<float, mtf::any_layout<>, backend>::tensor<batch, wide>>(machine);
  for (auto const& rules : {"", "batch:one", "wide:one", "batch:one", ""}) {
    auto const upper = mtf::layout_from<batch, wide>(mesh, rules);
    machine.layouts().clear();
    machine.layouts().add(whole);
    machine.layouts().add(upper);
    auto const& where = mtf::relayout<mtf::any_layout<1>>(x).where();
    CHECK(*where.layout == upper);
    for (int d = 0; d < 2; ++d) CHECK(where.spec[d].split == upper.split_of(where.spec[d].id));
  }
}
