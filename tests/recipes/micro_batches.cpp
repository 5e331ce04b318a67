// A large batch in parts, and layers whose activations are computed again.
#include "on_ranks.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace {

struct batch : mtf::dim<"batch", 8> {};  // a micro-batch
struct features : mtf::dim<"features", 16> {};
struct hidden : mtf::dim<"hidden", 32> {};

template <template <class...> class Tensor>
struct layer {
  Tensor<features, hidden> w1;
  Tensor<hidden, features> w2;
  MTF_FIELDS(w1, w2);
};
template <template <class...> class Tensor>
struct network {
  std::array<layer<Tensor>, 4> layers;
  MTF_FIELDS(layers);
};

struct one_layer {
  constexpr auto operator()(auto const& p, auto const& x) const {
    return x + mtf::complete(mtf::einsum<batch, features>(mtf::relu(mtf::einsum<batch, hidden>(x, p.w1)), p.w2));
  }
};

// Of each layer only its input is kept; the backward pass calls it again.
constexpr auto loss = [](auto const& p, auto const& x) {
  auto const y = mtf::scan(p.layers, x, [](auto const& each, auto const& before, std::size_t) {
    return mtf::recompute(one_layer{}, each, before);
  });
  return mtf::mean(mtf::square(y));
};

using by_batch = mtf::layout_of<"data:2", "batch:data", batch, features, hidden>;

// Eight micro-batches send as much for their gradients as one.
template <class Loss>
constexpr auto plan_for(Loss f) {
  return mtf::plan_of<by_batch, mtf::completed_gradients::overlapped>(f, mtf::parameters<network>{},
                                                                      mtf::input<float, batch, features>{});
}
static_assert(plan_for(mtf::accumulated<8>(loss)).count() == plan_for(loss).count());

// One update from eight micro-batches, one after the other.
template <class Parameters, class Optimizer, class Read>
double update(recipes::backend& machine, Parameters& p, Optimizer& optimizer, Read const& read) {
  auto const step = mtf::value_and_grad(mtf::accumulated(loss, 8), mtf::completed_gradients::overlapped);
  auto const [value, gradients] = step(p, [&](std::size_t i) { return read(i); });
  optimizer.update(machine, p, gradients, 1e-2);
  return mtf::item(value);
}

// Labels spread unevenly: the mean over what has one, of all micro-batches together.
constexpr auto masked = [](auto const& p, auto const& x, auto const& target, auto const& counts) {
  auto const y = mtf::scan(p.layers, x, [](auto const& each, auto const& before, std::size_t) {
    return mtf::recompute(one_layer{}, each, before);
  });
  return mtf::weighted_mean(mtf::mean<features>(mtf::square(y - target)), counts);
};
template <class Parameters, class Optimizer, class Read>
double weighted_update(recipes::backend& machine, Parameters& p, Optimizer& optimizer, Read const& read) {
  // Known on every rank before the first: how many examples of each micro-batch count.
  auto const weight = [&](std::size_t i) { return read.how_many(i); };
  auto const step = mtf::value_and_grad(mtf::accumulated(masked, 8, weight));
  auto const [value, gradients] = step(
      p, [&](std::size_t i) { return read.inputs(i); }, [&](std::size_t i) { return read.targets(i); },
      [&](std::size_t i) { return read.counts(i); });
  optimizer.update(machine, p, gradients, 1e-2);
  return mtf::item(value);
}

template <class Matrix, class Flags>
struct some_examples {
  recipes::backend& machine;
  // Of micro-batch i the first i, so none of the first.
  [[nodiscard]] double how_many(std::size_t i) const { return static_cast<double>(i); }
  [[nodiscard]] auto counts(std::size_t i) const {
    return mtf::iota<batch, Flags>(machine) < static_cast<std::int32_t>(i);
  }
  [[nodiscard]] auto inputs(std::size_t i) const {
    return mtf::random_normal<Matrix>(machine, mtf::random_key(2).of(i));
  }
  [[nodiscard]] auto targets(std::size_t i) const {
    return mtf::random_normal<Matrix>(machine, mtf::random_key(3).of(i));
  }
};

TEST_CASE("a large batch in parts that count for different shares") {
  recipes::on_ranks<by_batch>([](recipes::backend& machine) {
    using place = mtf::place<float, by_batch, recipes::backend>;
    network<place::tensor> p;
    mtf::for_each_tensor(
        [&](std::string_view name, auto& x) {
          x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, mtf::random_key(1).of(name), 0, 0.1);
        },
        p);
    mtf::sgd<network<place::tensor>> optimizer(machine, {});
    some_examples<place::tensor<batch, features>, place::rebound<std::int32_t>::tensor<batch>> const read{machine};
    double mean = 0, all = 0;
    for (std::size_t i = 1; i < 8; ++i) {
      mean += read.how_many(i) * mtf::item(masked(p, read.inputs(i), read.targets(i), read.counts(i)));
      all += read.how_many(i);
    }
    CHECK(weighted_update(machine, p, optimizer, read) == doctest::Approx(mean / all));
    CHECK(weighted_update(machine, p, optimizer, read) < mean / all);
  });
}

TEST_CASE("a large batch in parts") {
  recipes::on_ranks<by_batch>([](recipes::backend& machine) {
    using place = mtf::place<float, by_batch, recipes::backend>;
    network<place::tensor> p;
    mtf::for_each_tensor(
        [&](std::string_view name, auto& x) {
          x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, mtf::random_key(1).of(name), 0, 0.1);
        },
        p);
    mtf::sgd<network<place::tensor>> optimizer(machine, {});
    auto const read = [&](std::size_t i) {
      return mtf::random_normal<place::tensor<batch, features>>(machine, mtf::random_key(2).of(i));
    };
    double mean = 0;
    for (std::size_t i = 0; i < 8; ++i) mean += mtf::item(loss(p, read(i))) / 8;
    CHECK(update(machine, p, optimizer, read) == doctest::Approx(mean));
    CHECK(update(machine, p, optimizer, read) < mean);
  });
}

}  // namespace
