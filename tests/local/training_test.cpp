// Groups of parameters, their moving average, schedules, and gradients of another element type.
// devices: none
// compilers: first
#include <cmath>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/train/groups.hpp>

namespace {

struct in : mtf::dim<"in", 4> {};
struct out : mtf::dim<"out", 3> {};
using backend = mtf::kokkos_backend<>;
using layout = mtf::layout<mtf::mesh<>>;

template <template <class...> class Tensor>
struct network {
  Tensor<in, out> w1, w2, w3, gamma;
  MTF_FIELDS(w1, w2, w3, gamma);
};
template <class T>
using parameters = network<mtf::place<T, layout, backend>::template tensor>;

template <class T>
parameters<T> ones(backend& b) {
  parameters<T> p;
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::ones<std::remove_cvref_t<decltype(x)>>(b); }, p);
  return p;
}
/// All gradients are 1.
struct loss {
  auto operator()(auto const& p) const { return mtf::sum(p.w1) + mtf::sum(p.w2) + mtf::sum(p.w3) + mtf::sum(p.gamma); }
};
double first(auto const& x) { return static_cast<double>(mtf::to_global(x)[0]); }

TEST_CASE("groups say by name which parameters decay, at what rate they learn, and which do not") {
  mtf::single_rank alone;
  backend machine(alone);
  using P = parameters<double>;
  auto p = ones<double>(machine);
  using decay = mtf::parameter_group::decay;
  mtf::parameter_groups const groups{{.names = "w1", .rate = 0.5},
                                     {.names = "*2", .frozen = true},
                                     {.names = "w*", .decays = decay::no},
                                     {.names = "g*a", .decays = decay::yes}};
  mtf::sgd<P, mtf::parameter_groups> optimizer(machine, {.weight_decay = 0.5}, groups);
  optimizer.update(machine, p, mtf::value_and_grad(loss{})(p).gradients, 0.1);
  CHECK(first(p.w1) == doctest::Approx(1 - 0.05 * 1.5));
  CHECK(first(p.w2) == 1);
  CHECK(first(p.w3) == doctest::Approx(1 - 0.1));
  CHECK(first(p.gamma) == doctest::Approx(1 - 0.1 * 1.5));
  optimizer.visit_state([&](std::string const& suffix, auto const& of) {
    mtf::for_each_tensor(
        [&](auto name, auto const& n) {
          if constexpr (!mtf::tensor_type<std::remove_cvref_t<decltype(n)>>) {
            CHECK(suffix == "step");
            CHECK(n.value == (name == "w2" ? 0 : 1));
          }
        },
        of);
  });
}

TEST_CASE("a moving average follows the parameters, in float where they are bfloat16") {
  mtf::single_rank alone;
  backend machine(alone);
  auto p = ones<mtf::bfloat16>(machine);
  mtf::moving_average average(machine, p, 0.75);
  p.w1 = mtf::full<decltype(p.w1)>(machine, 5);
  auto const before = average;
  average.update(machine, p);
  average.update(machine, p);
  CHECK(first(average.parameters().w1) == doctest::Approx(5 - 4 * 0.75 * 0.75));
  CHECK(first(average.parameters().w2) == 1);
  CHECK(first(before.parameters().w1) == 1);
}

template <class T>
using average_of = typename mtf::moving_average<parameters<T>>::averaged_type;
static_assert(std::is_same_v<average_of<float>, parameters<float>>);
static_assert(std::is_same_v<decltype(average_of<mtf::bfloat16>{}.w1)::element_type, float>);
static_assert(
    std::is_same_v<decltype(average_of<mtf::precision<float, mtf::bfloat16, float, mtf::bfloat16>>{}.w1)::element_type,
                   float>);

TEST_CASE("gradients of bfloat16 update parameters of float") {
  mtf::single_rank alone;
  backend machine(alone);
  auto p = ones<float>(machine);
  auto const gradients = mtf::value_and_grad(loss{})(ones<mtf::bfloat16>(machine)).gradients;
  mtf::sgd<parameters<float>> optimizer(machine, {});
  optimizer.update(machine, p, gradients, 0x1p-20);
  CHECK(first(p.w1) == 1 - 0x1p-20);
}

TEST_CASE("schedules") {
  using doctest::Approx;
  static_assert(mtf::linear_warmup{4}.at(0) == 0 && mtf::linear_warmup{4}.at(1) == 0.25 &&
                mtf::linear_warmup{4}.at(9) == 1);
  // Mesh-TensorFlow's own test: from 1e-3 to 0 at step 100.
  static_assert(mtf::linear_decay{100, 100}.at(0) == 1 && mtf::linear_decay{100, 100}.at(50) == 0.5 &&
                mtf::linear_decay{100, 100}.at(100) == 0 && mtf::linear_decay{100, 10}.at(90) == 1);
  constexpr mtf::piecewise<2> steps{{10, 20}, {1, 0.5, 0.25}};
  static_assert(steps.at(9) == 1 && steps.at(10) == 0.5 && steps.at(20) == 0.25);
  static_assert((2 * mtf::linear_warmup{4} * steps).at(2) == 1);
  CHECK(mtf::rsqrt_decay{100}.at(7) == Approx(0.1));
  CHECK(mtf::rsqrt_decay{100}.at(400) == Approx(0.05));
  CHECK(mtf::noam{256, 16}.at(15) == Approx(1.0 / 64));  // the peak
  CHECK(mtf::noam{256, 16}.at(3) == Approx(1.0 / 256));
  CHECK(mtf::noam{256, 16}.at(63) == Approx(1.0 / 128));
  CHECK(mtf::relative_step{}.at(0) == 0.01);
  CHECK(mtf::relative_step{}.at(39999) == Approx(0.005));
  CHECK(mtf::cosine_decay{100, 0.2}.at(0) == 1);
  CHECK(mtf::cosine_decay{100, 0.2}.at(50) == Approx(0.6));
  CHECK(mtf::cosine_decay{100, 0.2}.at(100) == 0.2);
}

}  // namespace
