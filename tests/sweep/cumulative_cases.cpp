// Running sums, products and maxima.
#include <cstdint>
#include <limits>

#include "../definitions/reduction.hpp"
#include "entry.hpp"

#include <mtf/ops/cumulative.hpp>

namespace sweep {

namespace {

using mtf::cumulative;

SWEEP_OF_ONE(sum_b, (real<a, b, c>), mtf::cumulative_sum<b>(x))
SWEEP_OF_ONE(sum_before, (real<b, c>), mtf::cumulative_sum<c>(x, cumulative::exclusive))
SWEEP_OF_ONE(sum_from, (real<b, a>), mtf::cumulative_sum<a>(x, cumulative::reverse))
SWEEP_OF_ONE(sum_behind, (real<a, d>), mtf::cumulative_sum<a>(x, cumulative::reverse_exclusive))
SWEEP_OF_ONE(sum_integers, (whole<a, c>), mtf::cumulative_sum<a>(x))
SWEEP_OF_ONE(product_b, (real<a, b, c>), mtf::cumulative_prod<b>(x))
SWEEP_OF_ONE(product_behind, (real<b, a>), mtf::cumulative_prod<a>(x, cumulative::reverse_exclusive))
SWEEP_OF_ONE(product_zeros, (real<a, c, b>), mtf::cumulative_prod<c>(x))
SWEEP_OF_ONE(product_zeros_before, (real<b, d>), mtf::cumulative_prod<b>(x, cumulative::exclusive))
SWEEP_OF_ONE(max_b, (real<a, b, c>), mtf::cumulative_max<b>(x))
SWEEP_OF_ONE(max_from, (real<b, a>), mtf::cumulative_max<a>(x, cumulative::reverse))
SWEEP_OF_ONE(max_before, (whole<a, c>), mtf::cumulative_max<a>(x, cumulative::exclusive))

documentation const sums{
    .names = {"cumulative_sum"},
    .call = "cumulative_sum<dim>(x, how)",
    .meaning =
        "The sum of the elements along dim up to each; how: itself included or not, from the first or, in reverse, "
        "from "
        "the last on. Of integers and bools int64.",
    .forward =
        "along the dimension: one exclusive sum of one number a row; in reverse, or where dim's axes are not in the "
        "mesh's order, log2 of the ranks permutes of it",
    .backward = "the same in the other direction",
    .partial = "stays partial"};
documentation const products{
    .names = {"cumulative_prod", "cumulative_max"},
    .call = "cumulative_prod<dim>(x, how), cumulative_max<dim>(x, how)",
    .meaning =
        "The product or the largest element likewise; NaN from the first NaN on. The product's gradient is exact with "
        "zeros too; the maximum's goes to the element that it is, of equal ones the first.",
    .forward = "along the dimension: log2 of the ranks permutes of one number a row",
    .backward = "along the dimension: log2 of the ranks permutes of two numbers a row",
    .partial = "reduced"};

}  // namespace

std::vector<operation> cumulative_operations() {
  using define::run, define::running_largest, define::running_product, define::running_sum;
  constexpr run from{.reverse = true, .exclusive = false}, before{.reverse = false, .exclusive = true},
      behind{.reverse = true, .exclusive = true};
  auto const form = forms::cumulative;
  std::vector<operation> ops{
      adding<sum_b>("cumulative_sum<b>(x[a, b, c])", sums, running_sum(1, {}), form(1, true, false)),
      adding<sum_before>("cumulative_sum<c>(x[b, c], exclusive)", sums, running_sum(2, before), form(2, true, false)),
      adding<sum_from>("cumulative_sum<a>(x[b, a], reverse)", sums, running_sum(0, from), form(0, true, true)),
      adding<sum_behind>("cumulative_sum<a>(x[a, d], reverse_exclusive)", sums, running_sum(0, behind),
                         form(0, true, true)),
      adding<sum_integers>("cumulative_sum<a>(n[a, c])", sums, running_sum(0, {}),
                           forms::forward_only(form(0, true, false)))
          .drawn(-40, 40)
          .without_gradient(),
      adding<product_b>("cumulative_prod<b>(x[a, b, c])", products, running_product(1, {}), form(1, false, false))
          .drawn(0.75, 1.25)
          .chains(),
      adding<product_behind>("cumulative_prod<a>(x[b, a], reverse_exclusive)", products, running_product(0, behind),
                             form(0, false, true))
          .drawn(0.75, 1.25)
          .chains(),
      adding<product_zeros>("cumulative_prod<c>(x[a, c, b]), with zeros", products, running_product(2, {}),
                            form(2, false, false))
          .drawn(-1, 3)
          .integers()
          .chains(),
      adding<product_zeros_before>("cumulative_prod<b>(x[b, d], exclusive), with zeros", products,
                                   running_product(1, before), form(1, false, false))
          .drawn(-1, 3)
          .integers()
          .chains(),
      adding<max_b>("cumulative_max<b>(x[a, b, c])", products, running_largest(1, {}), form(1, false, false))
          .drawn(-3, 3),
      adding<max_from>("cumulative_max<a>(x[b, a], reverse), with ties", products, running_largest(0, from),
                       form(0, false, true))
          .drawn(-3, 3)
          .integers(),
      adding<max_before>("cumulative_max<a>(n[a, c], exclusive)", products,
                         running_largest(0, before, std::numeric_limits<std::int32_t>::lowest()),
                         forms::forward_only(form(0, false, false)))
          .drawn(-40, 40)
          .without_gradient(),
  };
  return ops;
}

}  // namespace sweep
