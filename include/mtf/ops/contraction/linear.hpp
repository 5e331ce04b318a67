#pragma once
// A contraction with a bias.
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>

namespace mtf {

namespace detail {

/// Whether the product of x and w can add b to its rows as it writes them: it is complete, one matrix product, and a
/// row runs over b's dimensions in b's order.
constexpr bool adds_bias(mesh_shape const& mesh, einsum_work const& w, sharding const& b) {
  bool contracts = false;
  for (std::size_t i = 0; i < 2; ++i)
    for (int d = 0; d < w.in[i].rank; ++d) {
      auto const id = w.in[i][d].id;
      if (w.out.has(id)) continue;
      if (!w.in[1 - i].has(id)) return false;
      contracts = true;
    }
  auto const& product = w.forward.work;
  if (!contracts || w.forward.swapped || w.forward.copy_c || product.batch.size() != 1 || product.c_n != 1)
    return false;
  if (w.out.partial != 0 || b.partial != 0 || b.rank > w.out.rank || product.n != b.local_size(mesh)) return false;
  for (int d = 0; d < b.rank; ++d)
    if (w.out[w.out.rank - b.rank + d].id != b[d].id) return false;
  return true;
}

template <class Rule, class Pair, class Backend, class T>
constexpr value<Backend, T> run_linear(value<Backend, T> const& x, value<Backend, T> const& w,
                                       value<Backend, T> const& b) {
  auto const product = run_einsum(Pair::work, x, w, b.memory);
  value<Backend, T> out(product.memory);
  record(tape_of(product, b), out, map_work_of<Rule>.out, [&](auto const& slot) {
    return map_node<Backend, functions::add, T, T, T>({}, map_work_of<Rule>, slot, product, b);
  });
  return out;
}

}  // namespace detail

/// x w + b: `einsum<Out...>(x, w) + b`, with the same results, communication and refusals. Where the product is
/// complete and its rows are b's, the matrix product adds b as it writes them: a pass over the result less.
template <dimension... Out, operand X, operand W, operand B>
constexpr auto linear(X const& x, W const& w, B const& b) {
  using product = decltype(einsum<Out...>(x, w));
  if constexpr (detail::any_refused<X, W, B> || std::is_same_v<product, refused>) {
    return refused{};
  } else if constexpr (std::is_same_v<decltype(std::declval<product const&>() + b), refused>) {
    return refused{};
  } else {
    using pair = detail::einsum_pair<typename X::description, typename W::description, shape<Out...>>;
    if constexpr (detail::adds_bias(X::mesh, pair::work, B::spec)) {
      using rule = detail::map_rule<functions::add, typename product::description, typename B::description>;
      return product(detail::run_linear<rule, pair>(x.value(), w.value(), b.value()));
    } else {
      return einsum<Out...>(x, w) + b;
    }
  }
}

}  // namespace mtf
