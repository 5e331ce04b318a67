#pragma once
// A contraction with a bias.
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>

namespace mtf {

namespace detail {

/// Whether the product of x and w can add b to its rows as it writes them: it is not partial, is one matrix product,
/// and a row runs over b's dimensions in b's order.
constexpr bool adds_bias(mesh_shape const& mesh, einsum_work const& w, sharding const& b) {
  bool contracts = false;
  for (std::size_t i = 0; i < 2; ++i)
    for (int d = 0; d < w.in[i].ndim; ++d) {
      auto const id = w.in[i][d].id;
      if (w.out.has(id)) continue;
      if (!w.in[1 - i].has(id)) return false;
      contracts = true;
    }
  auto const& product = w.forward.work;
  if (!contracts || w.forward.swapped || w.forward.copy_c || product.batch.size() != 1 || product.c_n != 1)
    return false;
  if (w.out.partial != 0 || b.partial != 0 || b.ndim > w.out.ndim || product.n != b.local_size(mesh)) return false;
  for (int d = 0; d < b.ndim; ++d)
    if (w.out[w.out.ndim - b.ndim + d].id != b[d].id) return false;
  return true;
}

struct linear_work : operation_work<3> {
  einsum_work product;
  bool adds_bias = false;  // as it writes the product: else this is not the work to do
  reduction to_bias;       // its gradient, from the result's
};

constexpr linear_work derive_linear(mesh_shape const& mesh, einsum_work const& product, sharding const& bias) {
  linear_work w;
  w.product = product;
  w.adds_bias = adds_bias(mesh, product, bias);
  if (!w.adds_bias) return w;
  w.in = {product.in[0], product.in[1], bias};
  w.out = product.out;
  w.complete = {product.complete[0], product.complete[1], 0};
  w.gradient_sums = {product.gradient_sums[0], product.gradient_sums[1], axes_of_others(bias, product.out)};
  w.to_bias = reduction_to(mesh, bias, product.out);
  return w;
}

template <class T>
struct linear_operation {
  linear_work const* work;
  static constexpr std::size_t kept = 2;  // of the product
  static constexpr char const* name() { return "linear"; }

  constexpr void forward(auto& f) const {
    f.out = run_local<T>(work->product.forward, f.memory(), f.template memory<1>(), {}, f.template memory<2>());
    keep_factors(f);
  }
  /// The gradient may stay partial: axes that split a factor split the result too, so it is not partial over them.
  constexpr void backward(auto& g) const {
    if (g.template wants<2>()) {
      if (work->in[2].ndim == work->out.ndim)
        g.template set_dx<2>(g.g.memory);
      else
        g.run(primitives::reduce<T>{combine::sum, work->to_bias, g.template dx<2>(), g.dy()});
      g.template deliver<2>();
    }
    factor_gradients<T>(g, work->product);
  }
};

template <class Pair>
struct linear_rule : said_by_parts {
  static constexpr bool takes_pads = true;
  static constexpr linear_work derive(mesh_shape const& mesh, sharding const& x, sharding const& w,
                                      sharding const& bias) {
    return derive_linear(mesh, Pair::derive(mesh, x, w), bias);
  }
};

/// The rule of a product plus b.
template <class Product, class B>
using sum_with = map_shardings_of<functions::add, typename Product::description, typename B::description>;

template <class... Out>
struct linear_call {
  template <class X, class W, class B>
  static auto verdict() -> ok;  // those of einsum and of the sum
  template <class X, class W, class B>
  using operands_rule = said_by_parts;
  static constexpr char const* name = "linear";

  template <class X, class W, class B>
  constexpr auto operator()(X const& x, W const& w, B const& b) const {
    using product = decltype(operate(einsum_call<Out...>{}, x, w));
    if constexpr (std::is_same_v<product, refused>) {
      return refused{};
    } else if constexpr (std::is_same_v<decltype(operate(map_call<functions::add>{}, std::declval<product const&>(),
                                                         b)),
                                        refused>) {
      return refused{};
    } else {
      using pair = einsum_pair<typename X::description, typename W::description, shape<Out...>>;
      using rule = linear_rule<pair>;
      using T = typename X::element_type;
      auto const in_two_steps = [&] {
        return operate(map_call<functions::add>{{}, "linear"}, operate(einsum_call<Out...>{"linear"}, x, w), b);
      };
      if constexpr (by_value<X>) {
        auto const& xw = derived_for<pair>(name, x, w);
        derived_at<sum_with<product, B>, map_work<2>>(table_of(x), std::array{xw.out, &b.where()}, name);
        if (!derived_for<rule>(name, x, w, b).work.adds_bias) return in_two_steps();
        return run_as<typename product::description, rule>(linear_operation<T>{}, x, w, b);
      } else if constexpr (work_of<rule, typename X::description, typename W::description, typename B::description>()
                               .adds_bias) {
        return run_as<typename product::description, rule>(linear_operation<T>{}, x, w, b);
      } else {
        return in_two_steps();
      }
    }
  }
};

}  // namespace detail

/// x w + b: `einsum<Out...>(x, w) + b`, with the same results, communication and refusals. Where the product is not
/// partial and its rows are b's, the matrix product adds b as it writes them, which saves a pass over the result.
template <dimension... Out, operand X, operand W, operand B>
constexpr auto linear(X const& x, W const& w, B const& b) {
  return detail::operate(detail::linear_call<Out...>{}, x, w, b);
}

}  // namespace mtf
