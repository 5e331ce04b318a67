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
SWEEP_OF_ONE(argmax_a, (real<a, c>), mtf::argmax<a>(x))
SWEEP_OF_ONE(argmax_b, (real<d, b, c>), mtf::argmax<b>(x))
SWEEP_OF_ONE(argmin_a, (real<a, c>), mtf::argmin<a>(x))
SWEEP_OF_ONE(argmin_c, (real<b, c, a>), mtf::argmin<c>(x))
SWEEP_OF_ONE(sort_a, (real<a, b>), mtf::sort<a>(x))
SWEEP_OF_ONE(sort_b, (real<c, b, a>), mtf::sort<b>(x))
SWEEP_OF_ONE(sort_alone, (real<a>), mtf::sort<a>(x))
SWEEP_OF_ONE(argsort_a, (real<c, a>), mtf::argsort<a>(x))
SWEEP_OF_ONE(argsort_integers, (whole<a, b, c>), mtf::argsort<b>(x))
SWEEP_OF_ONE(categorical_a, (real<b, a>), mtf::categorical<a>(x, mtf::random_key(11), 0.7))
SWEEP_OF_ONE(categorical_b, (real<a, b, c>), mtf::categorical<b>(x, mtf::random_key(12)))
SWEEP_OF_TWO(sample_a, (real<b, a>, real<b>), mtf::sample<a>(x, y, {.temperature = 0.7F, .top_k = 2, .top_p = 0.83F}))
SWEEP_OF_TWO(sample_b, (real<a, b, c>, real<c, a>), mtf::sample<b>(x, y, {.min_p = 0.31F}))
SWEEP_OF_FOUR(sample_each, (real<b, a>, real<b>, real<b>, whole<b>), mtf::sample<a>(x, y, z, y, w, z))

documentation const tops{
    .names = {"top_k"},
    .call = "top_k<dim, k>(x)",
    .meaning =
        "The largest elements along dim, as many as k is long, in descending order, and their positions (int32): two "
        "tensors. Of equal elements the first; NaN before all. k is not split.",
    .forward = "two all-gathers: each rank's largest elements, and their positions",
    .backward = "nothing. A gradient that arrives partial over dim's axes is reduced: one all-reduce of the result",
    .partial = "reduced"};

documentation const largest_at{.names = {"argmax", "argmin"},
                               .call = "argmax<dim>(x), argmin<dim>(x)",
                               .meaning =
                                   "Where the largest or the smallest element along dim is (int32). Of equal elements "
                                   "the first; NaN is larger, or "
                                   "smaller, than all.",
                               .forward = "two all-gathers: each rank's largest or smallest element, and its position",
                               .backward = "no gradient",
                               .partial = "reduced"};

documentation const in_order{
    .names = {"sort", "argsort"},
    .call = "sort<dim>(x), argsort<dim>(x)",
    .meaning =
        "The elements along dim in ascending order, NaN last; or where they were (int32), of equal elements the first "
        "in front.",
    .forward =
        "along the dimension: what a relayout sends by which its axes split other dimensions that they divide, an "
        "all-to-all, and one back; an axis that divides none: an all-gather, and nothing back",
    .backward = "sort: the same; argsort: no gradient",
    .partial = "reduced"};

documentation const choices{
    .names = {"categorical"},
    .call = "categorical<dim>(logits, key, temperature)",
    .meaning =
        "A position along dim (int32) by chance, with the probabilities of softmax(logits / temperature): of the key "
        "and the elements' positions, the same for every layout.",
    .forward = "as for argmax",
    .backward = "no gradient",
    .partial = "reduced"};

documentation const samples{
    .names = {"sample"},
    .call = "sample<dim>(logits, uniform, {.temperature, .min_p, .top_k, .top_p}), or tensors of these",
    .meaning =
        "The position along dim (int32) that each row's number of [0, 1) draws, with the probabilities of "
        "softmax(logits / temperature), 0: the largest; min_p, top_k and top_p are applied in this order. The same, to "
        "the bit, on every backend and under every layout. NaN is not drawn; -1: there is nothing to draw.",
    .forward =
        "along the dimension: what a relayout sends by which its axes split other dimensions that they divide, an "
        "all-to-all, and an all-gather of the result; an axis that divides none: an all-gather, and nothing back",
    .backward = "no gradient",
    .partial = "reduced"};

/// Of operands that stand for several: the second for min_p too, the third for temperature and top_p.
define::definition each_by_few() {
  return [means = define::sample_each()](define::tape& t, define::operands const& x, define::array& y) {
    means(t, {x[0], x[1], x[2], x[1], x[3], x[2]}, y);
  };
}

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
      entry<argmax_a>("argmax<a>(x[a, c])", largest_at, define::argmax(), forms::largest(0, 1, {2}))
          .drawn(-3, 3)
          .without_gradient(),
      entry<argmax_b>("argmax<b>(x[d, b, c]), with ties", largest_at, define::argmax(), forms::largest(1, 1, {3, 2}))
          .drawn(-3, 3)
          .integers()
          .without_gradient(),
      entry<argmin_a>("argmin<a>(x[a, c])", largest_at, define::argmin(), forms::largest(0, 1, {2}))
          .drawn(-3, 3)
          .without_gradient(),
      entry<argmin_c>("argmin<c>(x[b, c, a]), with ties", largest_at, define::argmin(), forms::largest(2, 1, {1, 0}))
          .drawn(-3, 3)
          .integers()
          .without_gradient(),
      entry<sort_a>("sort<a>(x[a, b])", in_order, define::sort(0), forms::sorted(0)).drawn(-3, 3),
      entry<sort_b>("sort<b>(x[c, b, a]), with ties", in_order, define::sort(1), forms::sorted(1))
          .drawn(-3, 3)
          .integers(),
      entry<sort_alone>("sort<a>(x[a])", in_order, define::sort(0), forms::sorted(0)).drawn(-3, 3),
      entry<argsort_a>("argsort<a>(x[c, a])", in_order, define::argsort(0), forms::forward_only(forms::sorted(0, 4)))
          .drawn(-3, 3)
          .without_gradient(),
      entry<argsort_integers>("argsort<b>(n[a, b, c])", in_order, define::argsort(1),
                              forms::forward_only(forms::sorted(1, 4)))
          .drawn(-3, 3)
          .without_gradient(),
      entry<categorical_a>("categorical<a>(x[b, a], key, 0.7)", choices,
                           define::categorical(mtf::random_key(11).bits(), 0.7), forms::largest(0, 1, {1}))
          .without_gradient(),
      entry<categorical_b>("categorical<b>(x[a, b, c], key)", choices,
                           define::categorical(mtf::random_key(12).bits(), 1), forms::largest(1, 1, {0, 2}))
          .without_gradient(),
      entry<sample_a>("sample<a>(x[b, a], u[b], {.temperature = 0.7, .top_k = 2, .top_p = 0.83})", samples,
                      define::sample({.temperature = 0.7, .top_k = 2, .top_p = 0.83}), forms::drawn(0))
          .drawn(0, 1)
          .without_gradient(),
      entry<sample_b>("sample<b>(x[a, b, c], u[c, a], {.min_p = 0.31})", samples, define::sample({.min_p = 0.31}),
                      forms::drawn(1))
          .drawn(0, 1)
          .without_gradient(),
      entry<sample_each>("sample<a>(x[b, a], u[b], t[b], u[b], n[b], t[b])", samples, each_by_few(), forms::drawn(0))
          .drawn(0, 1)
          .without_gradient(),
  };
  return ops;
}

}  // namespace sweep
