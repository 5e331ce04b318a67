// The first operation whose result is not finite: on one rank against the profile's names, on two ranks agreed. And
// what optimizers do with such gradients.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>
#include <mtf/train/first_not_finite.hpp>

namespace {

struct m : mtf::dim<"m", 4> {};
struct k : mtf::dim<"k", 6> {};
struct n : mtf::dim<"n", 8> {};
struct half : mtf::axis<"half", 2> {};

using backend = mtf::kokkos_backend<Kokkos::Serial>;
template <class Layout>
using on = mtf::place<float, Layout, backend>;
using split = mtf::layout<mtf::mesh<half>, mtf::split<m, half>>;

template <template <class...> class Tensor>
struct matrices {
  Tensor<m, k> x;
  Tensor<k, n> w;
  Tensor<k> gamma, beta;
  MTF_FIELDS(x, w, gamma, beta);
};

template <class Layout>
auto ones(backend& machine) {
  matrices<on<Layout>::template tensor> p;
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::ones<std::remove_cvref_t<decltype(x)>>(machine); }, p);
  return p;
}

constexpr double huge = 3e38;  // twice that is infinite

/// What is found in a training step; also that the profile of the same step has a row of that name.
template <class Params, class F>
std::string first(backend& machine, Params const& p, F const& loss) {
  mtf::profile_table table;
  machine.profile(&table);
  auto const found = mtf::first_not_finite(machine, p, [&] { mtf::value_and_grad(loss)(p); });
  machine.profile(nullptr);
  bool named = found.empty();
  for (auto const& r : table.rows())
    named = named || found.starts_with(std::string(r.operation) + " " + mtf::name_of(r.when) + " [");
  CHECK_MESSAGE(named, found);
  return found;
}

template <class F>
std::string first(F const& loss) {
  mtf::single_rank alone;
  backend machine(alone);
  return first(machine, ones<mtf::layout<mtf::mesh<>>>(machine), loss);
}

}  // namespace

TEST_CASE("the first operation whose result is not finite, forward") {
  CHECK(first([](auto const& p) { return mtf::sum(mtf::einsum<m, n>(p.x, p.w)); }).empty());
  CHECK(first([](auto const& p) { return mtf::sum(mtf::exp(mtf::log(mtf::einsum<m, n>(p.x, p.w) - 7))); }) ==
        "log forward [m, n]");
  CHECK(first([](auto const& p) { return mtf::sum(mtf::einsum<m, n>(p.x * huge, p.w)); }) == "einsum forward [m, n]");
  CHECK(first([](auto const& p) { return mtf::sum(p.x * huge); }) == "sum forward []");
  CHECK(first([](auto const& p) { return mtf::sum(mtf::softmax<k>(p.x * huge * 2)); }) == "multiply forward [m, k]");
  CHECK(first([](auto const& p) { return mtf::mean(mtf::layer_norm<k>(p.x, p.gamma, p.beta * huge * 2)); }) ==
        "multiply forward [k]");
}

TEST_CASE("the same, backward") {
  auto const r = [](auto const& x) { return mtf::sum(mtf::sqrt(x)); };
  CHECK(first([&](auto const& p) { return r(p.x - 1); }) == "sqrt backward [m, k]");
  CHECK(first([&](auto const& p) { return r(mtf::einsum<m, n>(p.x, p.w) - 6); }) == "sqrt backward [m, n]");
  CHECK(first([](auto const& p) { return mtf::sum(mtf::einsum<m, n>(p.x * (1 / huge), p.w) * huge); }) ==
        "einsum backward [m, k]");
  // Each contribution is finite, their sum is not: added by the slot, by a product and by a norm.
  CHECK(first([](auto const& p) {
          auto const y = mtf::einsum<m, n>(p.x * (1 / huge), p.w);
          return mtf::sum(y * huge) + mtf::sum(y * y * 0 + y * huge);
        }) == "multiply backward [m, n]");
  CHECK(first([](auto const& p) {
          auto const y = p.x * (1 / huge);
          auto const product = mtf::sum(mtf::einsum<m, n>(y, p.w) * (huge / 8));
          return product + mtf::sum(y * huge);
        }) == "einsum backward [m, k]");
  CHECK(first([](auto const& p) {
          auto const y = p.x * mtf::iota<k, std::remove_cvref_t<decltype(p.x)>>(p.x.backend()) * 1e-36;
          auto const normed = mtf::sum(mtf::square(mtf::layer_norm<k>(y, p.gamma * 1e30, p.beta, 1e-30) * 1e-6));
          return normed + mtf::sum(y * huge);
        }) == "layer_norm backward [m, k]");
}

TEST_CASE("a parameter that is not finite comes first") {
  mtf::single_rank alone;
  backend machine(alone);
  auto p = ones<mtf::layout<mtf::mesh<>>>(machine);
  p.w = p.w * huge * 2;
  CHECK(mtf::first_not_finite(machine, p, [&] { mtf::exp(p.x * huge); }) == "parameter w [k, n]");
}

TEST_CASE("ranks agree on the first in the order of the program") {
  mtf::rank_threads pool(2);
  pool.run(mtf::mesh<half>::shape(), [](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    auto const p = ones<split>(machine);
    using vector = on<split>::tensor<m>;
    auto const at = mtf::iota<m, vector>(machine);  // 0, 1 on rank 0, 2, 3 on rank 1
    auto const later = [&](auto const& q) {
      return mtf::log(mtf::sum<k>(mtf::sqrt(q.x * (2.5 - at)))  // rank 1
                      - 100);
    };  // both
    CHECK(first(machine, p, [&](auto const& q) { return mtf::sum(later(q)); }) == "sqrt forward [m/half, k]");
    CHECK(first(machine, p, [&](auto const& q) {
            auto const earlier = mtf::sum(mtf::log(at - 1.5));  // rank 0
            return earlier + mtf::sum(later(q));
          }) == "log forward [m/half]");
    // Each rank's term is finite, their sum is not.
    auto const sum = [&](auto const& q) { return mtf::complete(mtf::sum<m>(q.x * huge)); };
    CHECK(mtf::first_not_finite(machine, p, [&] { sum(p); }) == "sum forward [k]");
    auto const terms = [&](auto const& q) { return mtf::complete(mtf::sum<m>(q.x * (huge / 3))); };
    CHECK(mtf::first_not_finite(machine, p, [&] { terms(p); }) == "complete forward [k]");
    // The same of a parameter's gradient, which is completed for its norm.
    CHECK(mtf::first_not_finite(machine, p, [&] {
            auto const found =
                mtf::value_and_grad([&](auto const& q) { return mtf::sum(q.x * (q.gamma - 1) * (huge / 3)); },
                                    mtf::completed_gradients::overlapped)(p);
            mtf::global_norm(machine, found.gradients);
          }) == "global_norm update [k]");
  });
}

TEST_CASE("gradients that are not finite update nothing") {
  mtf::single_rank alone;
  backend machine(alone);
  auto const train = [&]<class Optimizer>(Optimizer optimizer, bool interrupted) {
    auto p = ones<mtf::layout<mtf::mesh<>>>(machine);
    auto const finite = [](auto const& q) { return mtf::sum(mtf::square(q.x) * 3); };
    for (int step = 0; step < 3; ++step) {
      if (interrupted && step == 1) {
        auto const before = p.x.local();
        auto const [value, bad] = mtf::value_and_grad([](auto const& q) { return mtf::sum(mtf::sqrt(q.x - q.x)); })(p);
        CHECK(!(optimizer.update(machine, p, bad, 0.1) <= std::numeric_limits<double>::max()));
        CHECK(p.x.local() == before);
      }
      auto const [value, gradients] = mtf::value_and_grad(finite)(p);
      optimizer.update(machine, p, gradients, 0.1);
    }
    return p.x.local();
  };
  using parameters = matrices<on<mtf::layout<mtf::mesh<>>>::tensor>;
  CHECK(train(mtf::adamw<parameters>(machine, {.clip_norm = 1}), true) ==
        train(mtf::adamw<parameters>(machine, {.clip_norm = 1}), false));
  CHECK(train(mtf::sgd<parameters>(machine, {.momentum = 0.9}), true) ==
        train(mtf::sgd<parameters>(machine, {.momentum = 0.9}), false));
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
