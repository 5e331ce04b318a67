// An operation with two results that both have gradients, written out of the tree: whichever of them is used, under
// every layout. And what layers carry besides: scan and recompute of structures.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/single_rank.hpp>
#include <support/layouts_agree.hpp>

namespace {

struct m : mtf::dim<"m", 4> {};
struct n : mtf::dim<"n", 4> {};
using numbers = std::vector<double>;

/// x + y and x - y, which pass on partial sums.
template <class T>
struct both_operation {
  mtf::detail::operation_work<2, 2> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "sum_and_difference"; }
  constexpr void forward(auto& f) const {
    auto const size = work->in[0].local_size(f.mesh());
    mtf::backend::loops<2> const flat{
        .ndim = 1, .extent = {size}, .stride = {mtf::backend::extents{1}, mtf::backend::extents{1}}};
    for (auto* const to : {f.y(), f.template y<1>()}) f.run(mtf::primitives::copy<T, T>{flat, to, f.x()});
    for (mtf::backend::index i = 0; i < size; ++i) {
      f.y()[i] += f.template x<1>()[i];
      f.template y<1>()[i] -= f.template x<1>()[i];
    }
  }
  constexpr void backward(auto& g) const {
    auto const size = work->in[0].local_size(g.mesh());
    for (mtf::backend::index i = 0; i < size; ++i) {
      T const of_sum = g.template arrived<0>() ? g.template dy<0>()[i] : T(0);
      T const of_difference = g.template arrived<1>() ? g.template dy<1>()[i] : T(0);
      g.template dx<0>()[i] = of_sum + of_difference;
      g.template dx<1>()[i] = of_sum - of_difference;
    }
  }
};
struct both_call {
  template <class X, class Y>
  static auto verdict() -> mtf::detail::same_element_t<X, Y>;
  static constexpr auto derive(mtf::mesh_shape const&, mtf::sharding const& x, mtf::sharding const& y) {
    mtf::detail::operation_work<2, 2> w{.in = {x, y}, .out = x};
    w.out.partial = x.partial & y.partial;
    w.further[0] = w.out;
    w.complete = {x.partial & ~w.out.partial, y.partial & ~w.out.partial};
    return w;
  }
  template <class X, class Y>
  constexpr auto operator()(X const& x, Y const& y) const {
    using T = typename X::element_type;
    using out = mtf::detail::description_of<T, both_call, typename X::description, typename Y::description>;
    return mtf::detail::run_as<mtf::detail::list<out, out>, both_call>(both_operation<T>{}, x, y);
  }
};
constexpr auto sum_and_difference(auto const& x, auto const& y) {
  return mtf::detail::operate_for<2>(both_call{}, x, y);
}

template <template <class...> class Tensor>
struct layer {
  Tensor<n> scale;
  MTF_FIELDS(scale);
};
template <template <class...> class Tensor>
struct inputs {
  Tensor<m, n> x, y;
  std::array<layer<Tensor>, 3> layers;
  MTF_FIELDS(x, y, layers);
};
template <class X, class Number>
struct carried {
  X x;
  Number balance;
  MTF_FIELDS(x, balance);
};
constexpr auto one_layer = [](auto const& p, auto const& c) {
  auto const y = c.x * p.scale + mtf::tanh(c.x);
  auto next = c;
  next.x = y;
  next.balance = c.balance + mtf::complete(mtf::mean(mtf::square(y)));
  return next;
};

/// f(inputs), and gradients of a loss.
template <class Layout, class Backend>
tests::results results_on(Backend& b) {
  using place = mtf::place<double, Layout, Backend>;
  inputs<place::template tensor> p;
  mtf::for_each_tensor(
      [&](std::string_view name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(b, mtf::random_key(3).of(name));
      },
      p);
  tests::results all;
  auto const add = [&](auto const& loss) {
    auto const found = mtf::value_and_grad(loss)(p);
    all.push_back({mtf::item(found.value)});
    mtf::for_each_tensor([&](auto, auto const& g) { all.push_back(mtf::to_global(g.complete())); }, found.gradients);
  };
  auto const weighed = [](auto const& x) { return mtf::sum(x * mtf::square(x)); };
  add([&](auto const& q) {
    auto const [sum, difference] = sum_and_difference(q.x, q.y);
    return weighed(sum) + 2.0 * weighed(difference);
  });
  add([&](auto const& q) { return weighed(std::get<0>(sum_and_difference(q.x, q.y))); });
  add([&](auto const& q) { return weighed(std::get<1>(sum_and_difference(q.x, q.y))); });
  // The gradient of one arrives partial over the axes of m, that of the other does not; in either order.
  add([&](auto const& q) {
    auto const [sum, difference] = sum_and_difference(q.layers[0].scale, q.layers[1].scale);
    return mtf::sum(sum * q.x) + weighed(difference);
  });
  add([&](auto const& q) {
    auto const [sum, difference] = sum_and_difference(q.layers[0].scale, q.layers[1].scale);
    return weighed(sum) + mtf::sum(difference * q.x);
  });
  // Of terms of sums.
  add([&](auto const& q) {
    auto const product = mtf::einsum<n>(q.x, q.layers[0].scale), other = mtf::einsum<n>(q.y, q.layers[1].scale);
    auto const [sum, difference] = sum_and_difference(product, other);
    return weighed(mtf::complete(sum)) + mtf::sum(difference * q.layers[2].scale);
  });
  auto const of_layers = [](auto const& each) {
    return [each](auto const& q) {
      carried const from{q.x * q.y, mtf::complete(mtf::mean(q.x))};
      auto const [x, balance] =
          mtf::scan(q.layers, from, [&](auto const& l, auto const& c, std::size_t) { return each(l, c); });
      return mtf::sum(mtf::square(x)) + balance * balance;
    };
  };
  add(of_layers(one_layer));
  add(of_layers([](auto const& l, auto const& c) { return mtf::recompute(one_layer, l, c); }));
  CHECK(std::equal(all.end() - 6, all.end(), all.end() - 12));  // the same to the bit
  // Written out.
  add([](auto const& q) {
    auto x = q.x * q.y;
    auto balance = mtf::complete(mtf::mean(q.x));
    for (auto const& l : q.layers) {
      x = x * l.scale + mtf::tanh(x);
      balance = balance + mtf::complete(mtf::mean(mtf::square(x)));
    }
    return mtf::sum(mtf::square(x)) + balance * balance;
  });
  CHECK(std::equal(all.end() - 6, all.end(), all.end() - 12));
  // Only what is beside x is wanted of the recomputed function.
  add([](auto const& q) {
    return mtf::recompute(one_layer, q.layers[0], carried{q.x, mtf::complete(mtf::mean(q.y))}).balance;
  });
  return all;
}

template <mtf::fixed_string Rules>
void check(tests::results const& expected) {
  tests::on_ranks_under<Rules, m, n>(
      [&]<class Layout>(thread_backend& b, Layout const*) { tests::check_close(results_on<Layout>(b), expected); });
}

TEST_CASE("several results, and structures that layers carry, do not see the layout") {
  mtf::single_rank alone;
  thread_backend b(alone);
  auto const expected = results_on<mtf::layout<mtf::mesh<>>>(b);
  check<"">(expected);
  check<"m:p">(expected);
  check<"n:q">(expected);
  check<"m:p;n:q">(expected);
  check<"m:p+q">(expected);
}

TEST_CASE("gradients of two results are those of arithmetic") {
  mtf::single_rank alone;
  thread_backend b(alone);
  using place = mtf::place<double, mtf::layout<mtf::mesh<>>, thread_backend>;
  inputs<place::tensor> p;
  mtf::for_each_tensor(
      [&](std::string_view name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(b, mtf::random_key(4).of(name));
      },
      p);
  auto const by = [&](auto const& pair) {
    return mtf::value_and_grad([&](auto const& q) {
             auto const [sum, difference] = pair(q.x, q.y);
             return mtf::sum(mtf::square(sum) * difference) + mtf::sum(mtf::exp(difference));
           })(p)
        .gradients;
  };
  auto const found = by([](auto const& x, auto const& y) { return sum_and_difference(x, y); });
  auto const expected = by([](auto const& x, auto const& y) { return std::make_tuple(x + y, x - y); });
  tests::check_close({mtf::to_global(found.x.complete()), mtf::to_global(found.y.complete())},
                     {mtf::to_global(expected.x.complete()), mtf::to_global(expected.y.complete())});
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
