// Layers whose number is a value: a program compiled once is, with n layers, the one whose std::array has n, to the bit
// and in its plan; structures of different numbers are not taken together.
// links: checkpoint
// devices: none
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/checkpoint/extents_in.hpp>
#include <mtf/checkpoint/save.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/tensor/extent.hpp>

#include "support/error_of.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

struct batch : mtf::dim<"batch", 8> {};
struct width : mtf::dim<"width", 8> {};
struct hidden : mtf::dim<"hidden", 16> {};

template <template <class...> class Tensor>
struct layer {
  Tensor<width> gamma;
  Tensor<width, hidden> w1;
  std::array<Tensor<hidden>, 2> b;
  Tensor<hidden, width> w2;
  MTF_FIELDS(gamma, w1, b, w2);
};
// The number of layers: a value, in a type, or that of an array.
struct by_value {
  struct layers : mtf::dim<"layers"> {};
  template <class Layer>
  using of = mtf::stack<layers, Layer>;
};
template <int N>
struct by_type {
  struct layers : mtf::dim<"layers", N> {};
  template <class Layer>
  using of = mtf::stack<layers, Layer>;
};
template <int N>
struct by_array {
  template <class Layer>
  using of = std::array<Layer, N>;
};

template <class Number>
struct net {
  template <template <class...> class Tensor>
  struct parameters {
    Tensor<width> first;
    typename Number::template of<layer<Tensor>> layers;
    Tensor<width> last;
    MTF_FIELDS(first, layers, last);
  };
  struct one_layer {
    constexpr auto operator()(auto const& l, auto const& x) const {
      auto const h = mtf::gelu(mtf::linear<batch, hidden>(mtf::rms_norm<width>(x, l.gamma), l.w1, l.b[0]) + l.b[1]);
      return x + mtf::complete(mtf::einsum<batch, width>(h, l.w2));
    }
  };
  template <bool Recompute>
  struct loss {
    constexpr auto operator()(auto const& p, auto const& x) const {
      using T = typename std::remove_cvref_t<decltype(p.first)>::element_type;
      auto const y = mtf::scan(p.layers, mtf::cast<T>(x) * p.first, [](auto const& l, auto const& before, std::size_t) {
        if constexpr (Recompute)
          return mtf::recompute(one_layer{}, l, before);
        else
          return one_layer{}(l, before);
      });
      return mtf::mean(mtf::square(y * p.last));
    }
  };
};

using event = mtf::collectives::event;
/// What a rank sees of three steps.
struct seen {
  std::vector<double> numbers;
  std::vector<event> sent;
  std::vector<std::string> names;
  bool operator==(seen const&) const = default;
};
using split = mtf::state_split_over<batch>;
template <class Number, class T>
using parameters_of =
    typename net<Number>::template parameters<mtf::place<T, mtf::any_layout<>, thread_backend>::template tensor>;

template <class Number, class T, template <class...> class Optimizer, bool Recompute>
seen trained(thread_backend& b) {
  using parameters = parameters_of<Number, T>;
  using X = typename mtf::place<float, mtf::any_layout<>, thread_backend>::template tensor<batch, width>;
  seen r;
  auto p = mtf::sized<parameters>(b);
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        r.names.emplace_back(name);
        x = mtf::random_uniform<std::remove_cvref_t<decltype(x)>>(b, mtf::random_key(1).of(name), -1, 1);
      },
      p);
  Optimizer<parameters, mtf::decay_weights, split> optimizer(b, {.clip_norm = 1});
  mtf::moving_average<parameters> average(b, p, 0.5);
  auto const x = mtf::random_uniform<X>(b, mtf::random_key(2), -1, 1);
  b.ranks().record(&r.sent);
  for (int step = 0; step < 3; ++step) {
    auto const several = [&](auto const& loss) {
      return mtf::value_and_grad<split>(loss, mtf::completed_gradients::overlapped)(std::as_const(p), x);
    };
    using loss = typename net<Number>::template loss<Recompute>;
    auto const [value, gradients] =
        step == 1 ? several(mtf::accumulated(loss{}, 2)) : mtf::value_and_grad<split>(loss{})(std::as_const(p), x);
    r.numbers.push_back(mtf::item(value));
    r.numbers.push_back(optimizer.update(b, p, gradients, 0.01));
    average.update(b, p);
  }
  b.ranks().record(nullptr);
  auto const look = [&](auto, auto const& t) {
    for (auto const v : t.local()) r.numbers.push_back(static_cast<double>(v));
  };
  mtf::for_each_tensor(look, std::as_const(p));
  mtf::for_each_tensor(look, average.parameters());
  r.numbers.push_back(static_cast<double>(mtf::parameter_count(p)));
  return r;
}

constexpr std::array<char const*, 3> rules{"", "batch:p", "batch:p;hidden:q"};
template <class Expected, int N, class T, template <class...> class Optimizer, bool Recompute>
void check_as() {
  under_each_layout(rules, [](thread_backend& b) {
    auto const expected = trained<Expected, T, Optimizer, Recompute>(b);
    b.layouts().give({{"layers", N}});
    CHECK(trained<by_value, T, Optimizer, Recompute>(b) == expected);
  });
}
TEST_CASE("as many layers as are given train as an array of them, to the bit") {
  check_as<by_array<1>, 1, float, mtf::adamw, false>();
  check_as<by_array<2>, 2, float, mtf::adamw, false>();
  check_as<by_array<3>, 3, mtf::mixed_bfloat16, mtf::lion, true>();
  check_as<by_array<7>, 7, float, mtf::adamw, false>();
}
TEST_CASE("the same of a stack whose type has their number") { check_as<by_type<2>, 2, float, mtf::adamw, false>(); }

template <int N>
void check_plan() {
  for (char const* const text : rules) {
    auto const layout = mtf::layout_from(mtf::mesh_from("p:2;q:2"), text);
    auto const planned = [&]<class Number, bool Recompute>() {
      return mtf::plan_under<mtf::completed_gradients::overlapped, split, mtf::updated_by<mtf::adamw>>(
          typename net<Number>::template loss<Recompute>{}, layout, mtf::extents_value{{"layers", N}},
          mtf::parameters<net<Number>::template parameters, float>{}, mtf::input<float, batch, width>{});
    };
    auto const same = [&]<bool Recompute>() {
      auto const expected = planned.template operator()<by_array<N>, Recompute>(),
                 found = planned.template operator()<by_value, Recompute>();
      CHECK(found.unrolled() == expected.unrolled());
      CHECK(found.collectives.size() == expected.collectives.size());
      CHECK(found.peak_bytes == expected.peak_bytes);
      CHECK(found.flops() == expected.flops());
    };
    same.template operator()<false>();
    same.template operator()<true>();
  }
}
TEST_CASE("plans of as many layers as are given are those of arrays") {
  check_plan<1>();
  check_plan<2>();
  check_plan<3>();
  check_plan<7>();
}

constexpr std::size_t collectives_of(std::int64_t layers) {
  return mtf::plan_under(net<by_value>::loss<false>{}, mtf::layout_from(mtf::mesh_from("p:2;q:2"), "batch:p"),
                         mtf::extents_value{{"layers", layers}}, mtf::parameters<net<by_value>::parameters>{},
                         mtf::input<float, batch, width>{})
      .collectives.size();
}
static_assert(collectives_of(8) == collectives_of(96));

template <class F>
void on_one_rank(F const& f) {
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    b.layouts().add({});
    f(b);
  });
}
using parameters = parameters_of<by_value, float>;
parameters of_layers(thread_backend& b, std::int64_t n) {
  b.layouts().give({{"layers", n}});
  auto p = mtf::sized<parameters>(b);
  mtf::for_each_tensor([&](auto, auto& x) { x = mtf::ones<std::remove_cvref_t<decltype(x)>>(b); }, p);
  return p;
}
using loss = net<by_value>::loss<false>;

TEST_CASE("a number of layers that is 0") {
  on_one_rank([](thread_backend& b) {
    auto p = of_layers(b, 0);
    CHECK(p.layers.size() == 0);
    CHECK(p.layers.is_sized());
    CHECK(mtf::parameter_count(p) == 16);
    auto const x = mtf::ones<mtf::place<float, mtf::any_layout<>, thread_backend>::tensor<batch, width>>(b);
    mtf::adamw<parameters> optimizer(b, {});
    auto const [value, gradients] = mtf::value_and_grad(loss{})(std::as_const(p), x);
    CHECK(mtf::item(value) == 1);
    CHECK(optimizer.update(b, p, gradients, 0.01) > 0);
  });
}

TEST_CASE("structures of different numbers of layers are not taken together") {
  on_one_rank([](thread_backend& b) {
    auto small = of_layers(b, 3), large = of_layers(b, 7);
    auto const x = mtf::ones<mtf::place<float, mtf::any_layout<>, thread_backend>::tensor<batch, width>>(b);
    auto const of_large = mtf::value_and_grad(loss{})(std::as_const(large), x).gradients;
    auto const of_small = mtf::value_and_grad(loss{})(std::as_const(small), x).gradients;
    mtf::sgd<parameters> for_large(b, {.momentum = 0.5});
    b.layouts().give({{"layers", 3}});
    mtf::sgd<parameters> for_small(b, {.momentum = 0.5});
    mtf::moving_average<parameters> average(b, small, 0.5);
    auto const said = [](auto const& f) { return error_of(f); };
    std::string const three_seven =
                          "structures that are taken together have other numbers of layers; here: layers 3, layers 7; "
                          "in layers",
                      seven_three =
                          "structures that are taken together have other numbers of layers; here: layers 7, layers 3; "
                          "in layers";
    CHECK(said([&] { for_small.update(b, small, of_large, 0.1); }) == three_seven);
    CHECK(said([&] { for_small.update(b, large, of_large, 0.1); }) == seven_three);
    CHECK(said([&] { for_large.update(b, large, of_small, 0.1); }) == seven_three);
    CHECK(said([&] { average.update(b, large); }) == seven_three);
    CHECK(said([&] { mtf::for_each_tensor([](auto, auto const&, auto const&) {}, small, large); }) == three_seven);
    CHECK(for_large.update(b, large, of_large, 0.1) > 0);
    CHECK(for_small.update(b, small, of_small, 0.1) > 0);
  });
}

TEST_CASE("a stack that does not know its number says so") {
  on_one_rank([](thread_backend& b) {
    auto const said = [](auto const& f) { return error_of(f); };
    auto const x = mtf::ones<mtf::place<float, mtf::any_layout<>, thread_backend>::tensor<batch, width>>(b);
    std::string const not_sized =
        "a stack does not know its number of layers, the extent of layers, which is a value: make its structure by "
        "mtf::sized<parameters>(backend), or call its resize(n)";
    parameters p;
    CHECK(!p.layers.is_sized());
    CHECK(said([&] { mtf::for_each_tensor([](auto, auto const&) {}, p); }) == not_sized);
    CHECK(said([&] { mtf::scan(p.layers, x, [](auto const&, auto const& y, std::size_t) { return y; }); }) ==
          not_sized);
    CHECK(said([&] {
            mtf::sized<parameters>(b);
          }).find("the extent of layers is not in its type, and none was given") == 0);
    b.layouts().give({{"layers", 2}});
    CHECK(mtf::sized<parameters>(b).layers.size() == 2);
    parameters const q;
    CHECK(said([&] { mtf::parameter_count(q); }) == not_sized);
  });
}

TEST_CASE("checkpoints of layers") {
  on_one_rank([](thread_backend& b) {
    std::string const file = "stack_test.checkpoint";
    auto p = of_layers(b, 3);
    p.layers[2].b[1] = mtf::zeros<std::remove_cvref_t<decltype(p.layers[2].b[1])>>(b);
    mtf::save(file, p);
    auto const q = mtf::load<parameters>(b, file);
    CHECK(q.layers.size() == 3);
    CHECK(q.layers[2].b[1].local() == std::vector<float>(16, 0));
    CHECK(q.layers[1].b[1].local() == std::vector<float>(16, 1));
    b.layouts().give({{"layers", 2}});
    CHECK(error_of([&] { mtf::load<parameters>(b, file); }).find("not in the structure that is read") !=
          std::string::npos);
    b.layouts().give({{"layers", 4}});
    CHECK(error_of([&] { mtf::load<parameters>(b, file); }).find("has no tensor layers.3.gamma") != std::string::npos);
    // The file says how many there are.
    CHECK(mtf::extents_in<parameters>(file) == mtf::extents_value{{"layers", 3}});
    b.layouts().give(mtf::extents_in<parameters>(file));
    CHECK(mtf::load<parameters>(b, file).layers[2].b[1].local() == std::vector<float>(16, 0));
    std::filesystem::remove_all(file);
  });
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
