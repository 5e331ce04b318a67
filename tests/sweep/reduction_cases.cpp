// Reductions along dimensions, and softmax.
#include <mtf/ops/reduction.hpp>
#include "../definitions/reduction.hpp"

#include "entry.hpp"
#include "sums.hpp"

namespace sweep {

namespace {

SWEEP_OF_ONE(sum_b, (real<a, b, c>), mtf::sum<b>(x))
SWEEP_OF_ONE(sum_ac, (real<a, b, c>), mtf::sum<c, a>(x))
SWEEP_OF_ONE(sum_all, (real<a, b>), mtf::sum(x))
SWEEP_OF_ONE(mean_a, (real<a, b, c>), mtf::mean<a>(x))
SWEEP_OF_ONE(mean_all, (real<a, b>), mtf::mean(x))
SWEEP_OF_ONE(mean_integers, (whole<a, c>), mtf::mean<c>(x))
SWEEP_OF_ONE(variance_b, (real<a, b, c>), mtf::variance<b>(x))
SWEEP_OF_ONE(variance_ac, (real<c, a, b>), mtf::variance<a, c>(x))
SWEEP_OF_ONE(variance_all, (real<a, b>), mtf::variance(x))
SWEEP_OF_ONE(variance_integers, (whole<a, c>), mtf::variance<c>(x))
SWEEP_OF_TWO(weighted_b, (real<a, b>, real<b, a>), mtf::weighted_mean<b>(x, y))
SWEEP_OF_TWO(weighted_all, (real<a, c>, whole<a, c>), mtf::weighted_mean(x, y))
SWEEP_OF_ONE(max_b, (real<a, b, c>), mtf::reduce_max<b>(x))
SWEEP_OF_ONE(max_tied, (real<a, b, c>), mtf::reduce_max<a>(x))
SWEEP_OF_ONE(min_ac, (real<a, b, c>), mtf::reduce_min<a, c>(x))
SWEEP_OF_ONE(any_b, (real<a, b, c>), mtf::reduce_any<b>(x > 0.9))
SWEEP_OF_ONE(all_ac, (real<a, b, c>), mtf::reduce_all<c, a>(x > -0.9))
SWEEP_OF_ONE(all_all, (whole<a, b>), mtf::reduce_all(x != 0))
SWEEP_OF_ONE(prod_b, (real<a, b, c>), mtf::reduce_prod<b>(x))
SWEEP_OF_ONE(prod_ac, (real<a, b, c>), mtf::reduce_prod<c, a>(x))
SWEEP_OF_ONE(prod_all, (real<b, a>), mtf::reduce_prod(x))
SWEEP_OF_ONE(prod_zeros, (real<a, c, b>), mtf::reduce_prod<c>(x))
SWEEP_OF_ONE(prod_integers, (whole<a, c>), mtf::reduce_prod<c>(x))
SWEEP_OF_ONE(softmax_a, (real<a, b, c>), mtf::softmax<a>(x, 1.5))
SWEEP_OF_ONE(softmax_c, (real<a, b, c>), mtf::softmax<c>(x))
SWEEP_OF_ONE(log_softmax_b, (real<a, b, c>), mtf::log_softmax<b>(x))
SWEEP_OF_ONE(log_softmax_c, (real<a, c>), mtf::log_softmax<c>(x))
SWEEP_OF_ONE(logsumexp_b, (real<a, b, c>), mtf::logsumexp<b>(x))
SWEEP_OF_ONE(logsumexp_a, (real<b, a>), mtf::logsumexp<a>(x))
SWEEP_OF_ONE(causal, (real<c, b, e>), mtf::masked_softmax<b, e>(x, mtf::visible::causal(), 1.5))
SWEEP_OF_ONE(causal_turned, (real<e, c, b>), mtf::masked_softmax<b, e>(x, mtf::visible::causal()))
SWEEP_OF_ONE(band, (real<c, b, e>), mtf::masked_softmax<b, e>(x, mtf::visible::window(4, -2)))
SWEEP_OF_ONE(band_turned, (real<e, c, b>),
             mtf::masked_softmax<b, e>(x, mtf::visible::window(3, 1) | mtf::visible::prefix(2), -0.5))
SWEEP_OF_TWO(lengths, (real<c, b, e>, whole<c>), mtf::masked_softmax<b, e>(x, mtf::visible::causal(2), y, 1.5))
SWEEP_OF_TWO(lengths_of_queries, (real<e, c, b>, whole<b, c>),
             mtf::masked_softmax<b, e>(x, mtf::visible::window(6, 3) | mtf::visible::prefix(2), y))

documentation const sums{.names = {"sum", "mean"},
                         .call = "sum<dims...>(x), mean<dims...>(x)",
                         .meaning =
                             "The sum or mean along the dimensions; along all if none is named. Means of integers and "
                             "bools are float, sums of bools counts.",
                         .forward = "nothing; the result is partial over the axes of a summed dimension",
                         .backward =
                             "nothing; a gradient that arrives partial over an axis that splits x is reduced: one "
                             "all-reduce of the result",
                         .partial = "stays partial"};
documentation const variances{
    .names = {"variance"},
    .call = "variance<dims...>(x)",
    .meaning =
        "The mean squared difference from the mean along the dimensions, or all; of integers and bools float. The "
        "differences are squared, so nothing cancels.",
    .forward = "one all-reduce of the result over the axes of a reduced dimension; the result is partial over them",
    .backward = "as for sum",
    .partial = "reduced"};
documentation const weighted_means{
    .names = {"weighted_mean"},
    .call = "weighted_mean<dims...>(x, weights)",
    .meaning = "sum(x weights) / sum(weights), both along the dimensions or all, of all ranks.",
    .forward =
        "one all-reduce of the sum of the weights over the axes of a summed dimension; the result is partial over them",
    .backward = "as for a product, two sums and a quotient",
    .partial = "x stays partial, weights are reduced"};
documentation const extremes{
    .names = {"reduce_max", "reduce_min"},
    .call = "reduce_max<dims...>(x), reduce_min<dims...>(x)",
    .meaning =
        "The largest or smallest element along the dimensions, or all, NaN if there is one; the gradient "
        "goes to every element that equals it.",
    .forward = "one all-reduce of the result over the axes of a reduced dimension",
    .backward = "as for sum",
    .partial = "reduced"};
documentation const decisions{
    .names = {"reduce_any", "reduce_all"},
    .call = "reduce_any<dims...>(x), reduce_all<dims...>(x)",
    .meaning = "Whether one of the bools along the dimensions, or all, holds; whether all do.",
    .forward = "one all-reduce of the result over the axes of a reduced dimension",
    .backward = "has no gradient",
    .partial = "reduced"};
documentation const products{
    .names = {"reduce_prod"},
    .call = "reduce_prod<dims...>(x)",
    .meaning =
        "The product of the elements along the dimensions, or all, NaN if there is one; the gradient of an element is "
        "the product of all others, exact with zeros too.",
    .forward = "one all-gather of the result, over the axes of a reduced dimension",
    .backward = "as for sum",
    .partial = "reduced"};
documentation const softmaxes{
    .names = {"softmax", "log_softmax", "masked_softmax"},
    .call =
        "softmax<dim>(x, scale), log_softmax<dim>(x), masked_softmax<query, key>(x, seen, scale), "
        "masked_softmax<query, key>(x, seen, lengths, scale)",
    .meaning =
        "exp(scale x) normalized to sum 1 along the dimension, or its logarithm; masked: over the keys that the query "
        "sees, 0 for others; of these, if there are lengths, those below its length. Along several dimensions, "
        "softmax<dims...>(x), "
        "together: "
        "what reduce_max and sum send.",
    .forward = "along the dimension: two all-reduces of one number a row; others: nothing",
    .backward = "along the dimension: one all-reduce of one number a row; others: nothing",
    .partial = "reduced"};
documentation const logsumexps{
    .names = {"logsumexp"},
    .call = "logsumexp<dim>(x)",
    .meaning = "log sum exp along the dimension, which the result lacks.",
    .forward = "along the dimension: two all-reduces of the result; others: nothing",
    .backward =
        "nothing; a gradient that arrives partial over the dimension's axes is reduced: one all-reduce of the result",
    .partial = "reduced"};
/// Several operations one after the other, each of which has a form of its own.
closed_form composed(set gone) {
  return [=](situation const& s) {
    answer a;
    a.out = s.in[0].without(gone);
    a.sends_known = a.partial_known = false;
    return a;
  };
}
closed_form completed_sum(set gone) {
  return [=](situation const& s) {
    situation whole = s;
    whole.in[0].partial = 0;
    answer a = forms::sum(gone)(whole);
    a.forward = forms::complete()(s).forward;
    return a;
  };
}

/// The mean is reduced, and the squares are summed.
closed_form variance(set gone) {
  return [=](situation const& s) {
    answer a = forms::sum(gone)(s);
    place const& x = s.in[0];
    a.out.partial = axes_of(x.split, gone);
    forms::take_sum(a.forward, s.mesh, x.partial, x);
    forms::take_sum(a.forward, s.mesh, a.out.partial, a.out);
    return a;
  };
}
closed_form decided(set gone) {
  return [=](situation const& s) {
    answer a = forms::extreme(gone)(s);
    auto const axes = axes_of(s.in[0].split, gone);
    if (axes != 0) a.forward.back().payload = shard_size(s.mesh, a.out) * sizeof(bool);
    return a;
  };
}
define::definition holds_for(bool (*one)(double), bool all) {
  return define::reduction([=](define::tape& t, define::row const& x) {
    bool any = false, every = true;
    for (auto const v : x) any = any || one(t.value(v)), every = every && one(t.value(v));
    return t.constant((all ? every : any) ? 1 : 0);
  });
}

/// As a maximum, but that the ranks' results are gathered.
closed_form product(set gone) {
  return [=](situation const& s) {
    answer a = forms::extreme(gone)(s);
    if (axes_of(s.in[0].split, gone) != 0) a.forward.back().kind = collective_kind::all_gather;
    return a;
  };
}

bool is_causal(int query, int key) { return key <= query; }

}  // namespace

std::vector<operation> reduction_operations() {
  auto const rows = [](int dim) { return forms::rows(dim, {1, 1}, {1}, false); };
  auto const masked = [](define::sees shows, double scale = 1) {
    return define::masked_softmax(1, 4, std::move(shows), scale);
  };
  std::vector<operation> ops{
      adding<sum_b>("sum<b>(x[a, b, c])", sums, define::sum(), forms::sum(bit(1))),
      adding<sum_ac>("sum<c, a>(x[a, b, c])", sums, define::sum(), forms::sum(bit(0) | bit(2))),
      adding<sum_all>("sum(x[a, b])", sums, define::sum(), forms::sum(bit(0) | bit(1))),
      adding<mean_a>("mean<a>(x[a, b, c])", sums, define::mean(), forms::sum(bit(0))),
      adding<mean_all>("mean(x[a, b])", sums, define::mean(), forms::sum(bit(0) | bit(1))),
      adding<mean_integers>("mean<c>(x[a, c]) of integers", sums, define::mean(), completed_sum(bit(2)))
          .drawn(-20, 20)
          .without_gradient(),
      adding<variance_b>("variance<b>(x[a, b, c])", variances, define::variance(), variance(bit(1))),
      adding<variance_ac>("variance<a, c>(x[c, a, b])", variances, define::variance(), variance(bit(0) | bit(2))),
      adding<variance_all>("variance(x[a, b])", variances, define::variance(), variance(bit(0) | bit(1))),
      adding<variance_integers>("variance<c>(x[a, c]) of integers", variances, define::variance(), composed(bit(2)))
          .drawn(-20, 20)
          .without_gradient(),
      adding<weighted_b>("weighted_mean<b>(x[a, b], weights[b, a])", weighted_means, define::weighted_mean(),
                         composed(bit(1)))
          .drawn(0.5, 3, 1),
      adding<weighted_all>("weighted_mean(x[a, c], weights[a, c]), integers", weighted_means, define::weighted_mean(),
                           composed(bit(0) | bit(2)))
          .drawn(0, 3, 1),
      entry<max_b>("reduce_max<b>(x[a, b, c])", extremes, define::largest(), forms::extreme(bit(1))).drawn(-3, 3),
      entry<max_tied>("reduce_max<a>(x[a, b, c]), with ties", extremes, define::largest(), forms::extreme(bit(0)))
          .drawn(-3, 3)
          .integers(),
      entry<min_ac>("reduce_min<a, c>(x[a, b, c])", extremes, define::smallest(), forms::extreme(bit(0) | bit(2)))
          .drawn(-3, 3),
      entry<any_b>("reduce_any<b>(x[a, b, c] > 0.9)", decisions, holds_for([](double v) { return v > 0.9; }, false),
                   decided(bit(1)))
          .without_gradient(),
      entry<all_ac>("reduce_all<c, a>(x[a, b, c] > -0.9)", decisions,
                    holds_for([](double v) { return v > -0.9; }, true), decided(bit(0) | bit(2)))
          .without_gradient(),
      entry<all_all>("reduce_all(x[a, b] != 0)", decisions, holds_for([](double v) { return v != 0; }, true),
                     decided(bit(0) | bit(1)))
          .drawn(0, 30)
          .without_gradient(),
      adding<prod_b>("reduce_prod<b>(x[a, b, c])", products, define::product(), product(bit(1)))
          .drawn(0.75, 1.25)
          .chains(),
      adding<prod_ac>("reduce_prod<c, a>(x[a, b, c])", products, define::product(), product(bit(0) | bit(2)))
          .drawn(0.75, 1.25)
          .chains(),
      adding<prod_all>("reduce_prod(x[b, a])", products, define::product(), product(bit(0) | bit(1)))
          .drawn(0.75, 1.25)
          .chains(),
      adding<prod_zeros>("reduce_prod<c>(x[a, c, b]), with zeros", products, define::product(), product(bit(2)))
          .drawn(-1, 3)
          .integers()
          .chains(),
      adding<prod_integers>("reduce_prod<c>(x[a, c]) of integers", products, define::product(), product(bit(2)))
          .drawn(-1, 2)
          .without_gradient()
          .chains(),
      adding<softmax_a>("softmax<a>(x[a, b, c], 1.5)", softmaxes, define::softmax(0, 1.5), rows(0)),
      adding<softmax_c>("softmax<c>(x[a, b, c])", softmaxes, define::softmax(2), rows(2)),
      adding<log_softmax_b>("log_softmax<b>(x[a, b, c])", softmaxes, define::log_softmax(1), rows(1)),
      adding<log_softmax_c>("log_softmax<c>(x[a, c])", softmaxes, define::log_softmax(2), rows(2)),
      adding<logsumexp_b>("logsumexp<b>(x[a, b, c])", logsumexps, define::logsumexp(),
                          forms::rows(1, {1, 1}, {}, true)),
      adding<logsumexp_a>("logsumexp<a>(x[b, a])", logsumexps, define::logsumexp(), forms::rows(0, {1, 1}, {}, true)),
      adding<causal>("masked_softmax<b, e>(x[c, b, e], causal, 1.5)", softmaxes, masked(is_causal, 1.5), rows(4))
          .drawn(-3, 3),
      adding<causal_turned>("masked_softmax<b, e>(x[e, c, b], causal)", softmaxes, masked(is_causal), rows(4))
          .drawn(-3, 3),
      // The first queries see nothing.
      adding<band>("masked_softmax<b, e>(x[c, b, e], window)", softmaxes,
                   masked([](int q, int k) { return k + 2 <= q && q < k + 6; }), rows(4))
          .drawn(-3, 3),
      adding<band_turned>("masked_softmax<b, e>(x[e, c, b], window and prefix, -0.5)", softmaxes,
                          masked([](int q, int k) { return (k <= q + 1 && q < k + 2) || k < 2; }, -0.5), rows(4))
          .drawn(-3, 3),
      adding<lengths>("masked_softmax<b, e>(x[c, b, e], causal, lengths[c], 1.5)", softmaxes,
                      masked([](int q, int k) { return k <= q + 2; }, 1.5), rows(4))
          .drawn(-1, E + 2, 1),
      adding<lengths_of_queries>("masked_softmax<b, e>(x[e, c, b], window and prefix, lengths[b, c])", softmaxes,
                                 masked([](int q, int k) { return (k <= q + 3 && q < k + 3) || k < 2; }), rows(4))
          .drawn(-1, E + 2, 1),
  };
  return ops;
}

}  // namespace sweep
