// The largest elements of rows.
#include <vector>

#include "../definitions/indexing.hpp"
#include "entry.hpp"

#include <mtf/ops/sorting.hpp>

namespace sweep {

namespace {

SWEEP_OF_ONE(top_a, (real<a, c>), std::get<0>(mtf::top_k<a, d>(x)))
SWEEP_OF_ONE(top_c, (real<d, b>), std::get<0>(mtf::top_k<b, c>(x)))
SWEEP_OF_ONE(top_places, (real<a, b, d>), std::get<1>(mtf::top_k<b, c>(x)))

documentation const tops{
    .names = {"top_k"},
    .call = "top_k<dim, k>(x)",
    .meaning =
        "The largest elements along dim, as many as k is long, in descending order, and their positions (int32): two "
        "tensors. Of equal elements the first; NaN before all. k is not split.",
    .forward = "two all-gathers: each rank's largest elements, and their positions",
    .backward = "nothing. A gradient that arrives partial over dim's axes is reduced: one all-reduce of the result",
    .partial = "reduced"};

}  // namespace

std::vector<operation> sorting_operations() {
  std::vector<operation> ops{
      entry<top_a>("top_k<a, d>(x[a, c])", tops, define::top_k(0, 3), forms::largest(0, static_cast<int>(D), {3, 2}))
          .drawn(-3, 3),
      entry<top_c>("top_k<b, c>(x[d, b]), with ties", tops, define::top_k(1, 2),
                   forms::largest(1, static_cast<int>(C), {3, 2}))
          .drawn(-3, 3)
          .integers(),
      entry<top_places>("positions of top_k<b, c>(x[a, b, d])", tops, define::top_k_positions(1, 2),
                        forms::largest(1, static_cast<int>(C), {0, 2, 3}))
          .drawn(-3, 3)
          .integers()
          .without_gradient(),
  };
  return ops;
}

}  // namespace sweep
