// Arithmetic on gradients: as tensors, clipped element by element; and sums of them.
#include "on_ranks.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace {

struct batch : mtf::dim<"batch", 8> {};
struct features : mtf::dim<"features", 6> {};
struct classes : mtf::dim<"classes", 4> {};
struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_batch = mtf::layout<mtf::mesh<data>, mtf::split<batch, data>>;
using by_both = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<classes, model>>;

template <template <class...> class Tensor>
struct linear {
  Tensor<features, classes> w;
  Tensor<classes> b;
  Tensor<classes> unused;
  MTF_FIELDS(w, b, unused);
};

constexpr auto distance = [](auto const& p, auto const& x, auto const& y) {
  return mtf::mean(mtf::square(mtf::einsum<batch, classes>(x, p.w) + p.b - y));
};
constexpr auto size = [](auto const& p) { return mtf::sum(mtf::square(p.w)); };

// Each element of each gradient becomes the nearest number from -limit to limit.
template <class Gradients>
void clip_by_value(Gradients& gradients, double limit) {
  mtf::for_each_tensor(
      [&](std::string_view, auto& g) {
        if (!g.is_zero()) g = mtf::gradient(mtf::clip(g.complete(), -limit, limit));
      },
      gradients);
}

// Of two losses: the gradients of the first are clipped, those of the second count a tenth.
template <class Parameters>
auto gradients_of_both(Parameters const& p, auto const& x, auto const& y) {
  auto all = mtf::value_and_grad(distance, mtf::completed_gradients::overlapped)(p, x, y).gradients;
  clip_by_value(all, 0.25);
  auto second = mtf::value_and_grad(size)(p).gradients;
  mtf::scale_gradients(second, 0.1);
  mtf::add_gradients(all, second);
  return all;
}

// The parameters after one step of gradient descent, w before b; x, y, w and b come before it.
template <class Layout, class Split = mtf::state_split_over<>>
std::vector<std::vector<double>> one_step() {
  std::vector<std::vector<double>> found;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using real = mtf::place<double, Layout, recipes::backend>;
    using parameters = linear<real::template tensor>;
    parameters p{recipes::random<decltype(parameters::w)>(machine, "w"),
                 recipes::random<decltype(parameters::b)>(machine, "b"),
                 recipes::random<decltype(parameters::unused)>(machine, "unused")};
    auto const x = recipes::random<typename real::template tensor<batch, features>>(machine, "x");
    auto const y = recipes::random<typename real::template tensor<batch, classes>>(machine, "y");
    std::vector<std::vector<double>> mine{mtf::to_global(x), mtf::to_global(y), mtf::to_global(p.w),
                                          mtf::to_global(p.b)};
    auto const unused = p.unused.local();
    auto const gradients = gradients_of_both(p, x, y);
    CHECK(gradients.unused.is_zero());
    // With momentum, so that there is state, which may be split.
    mtf::sgd<parameters, mtf::decay_weights, Split> optimizer(machine, {.momentum = 0.9});
    optimizer.update(machine, p, gradients, 0.5);
    CHECK(p.unused.local() == unused);
    mine.push_back(mtf::to_global(p.w));
    mine.push_back(mtf::to_global(p.b));
    if (machine.ranks().rank() == 0) found = mine;
  });
  return found;
}

TEST_CASE("gradients that were clipped and added up, in plain loops") {
  constexpr std::size_t n = batch::extent, in = features::extent, out = classes::extent;
  auto const alone = one_step<one_rank>();
  auto const &x = alone[0], &y = alone[1];
  auto w = alone[2], b = alone[3];
  std::vector<double> dw(in * out), db(out);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t o = 0; o < out; ++o) {
      double error = b[o] - y[i * out + o];
      for (std::size_t k = 0; k < in; ++k) error += x[i * in + k] * w[k * out + o];
      for (std::size_t k = 0; k < in; ++k) dw[k * out + o] += 2 * error * x[i * in + k] / (n * out);
      db[o] += 2 * error / (n * out);
    }
  // The limit holds for some elements, and not for others.
  auto const large = std::ranges::count_if(dw, [](double g) { return g > 0.25 || g < -0.25; });
  CHECK(large > 0);
  CHECK(large < static_cast<std::ptrdiff_t>(dw.size()));
  for (std::size_t i = 0; i < dw.size(); ++i) w[i] -= 0.5 * (std::clamp(dw[i], -0.25, 0.25) + 0.1 * 2 * w[i]);
  for (std::size_t o = 0; o < out; ++o) b[o] -= 0.5 * std::clamp(db[o], -0.25, 0.25);
  recipes::check_close(alone[4], w, 1e-12);
  recipes::check_close(alone[5], b, 1e-12);
  for (auto const& split :
       {one_step<by_batch>(), one_step<by_both>(), one_step<by_batch, mtf::state_split_over<batch>>(),
        one_step<by_both, mtf::state_split_over<batch>>()}) {
    recipes::check_close(split[4], w, 1e-12);
    recipes::check_close(split[5], b, 1e-12);
  }
}

TEST_CASE("a gradient made of a tensor is that tensor") {
  auto const check = []<class Layout>(recipes::backend& machine, Layout const*) {
    using real = mtf::place<double, Layout, recipes::backend>;
    auto const x = recipes::random<typename real::template tensor<batch, classes>>(machine, "x");
    mtf::gradient const g(x);
    CHECK(g.partial_axes() == 0);
    CHECK(mtf::to_global(g.complete()) == mtf::to_global(x));
    // What is done with the gradient does not change the tensor, whose memory it shares.
    auto const before = x.local();
    auto other = g;
    other *= 2;
    other += g;
    CHECK(x.local() == before);
    recipes::check_close(mtf::to_global(other.complete()), mtf::to_global(3.0 * x), 1e-15);
    // Of a partial tensor it is the sum.
    mtf::gradient const sum(mtf::sum<batch>(x));
    CHECK(sum.partial_axes() == 0);
    CHECK(mtf::to_global(sum.complete()) == mtf::to_global(mtf::sum<batch>(x)));
  };
  recipes::on_ranks<by_both>([&](recipes::backend& machine) {
    check(machine, static_cast<by_both const*>(nullptr));
    machine.layouts().add(mtf::layout_from(mtf::mesh_from("data:2;model:2"), "batch:data;classes:model"));
    check(machine, static_cast<mtf::any_layout<> const*>(nullptr));
  });
}

}  // namespace
