// Attention, rotary positions, norms, losses, gates, dropout. Softmax, masked or not, lies with reductions in
// include/mtf/ops and so here (reduction_cases.cpp).
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <mtf/ops/nn.hpp>
#include "../definitions/elementwise.hpp"
#include "../definitions/nn.hpp"
#include "../definitions/reduction.hpp"

#include "entry.hpp"
#include "sums.hpp"

namespace sweep {

namespace {

/// By products, as where the head is split.
SWEEP_OF_THREE(attention_stored, (real<c, b, d>, real<c, e, d>, real<e, c, d>),
               (mtf::detail::operate(mtf::detail::attention_call<b, e, d>{mtf::visible::causal(), 0.7}, x, y, z)))
// One axis may split queries and keys: these go round.
#define MAY_GO_ROUND(NAME)                        \
  struct NAME : NAME##_call {                     \
    static constexpr set apart = bit(1) | bit(4); \
  };
SWEEP_OF_THREE(attention_call, (real<c, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(), 0.7))
SWEEP_OF_THREE(attention_turned_call, (real<d, c, b>, real<e, d, c>, real<c, d, e>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(), -1.1))
SWEEP_OF_THREE(attention_band_call, (real<c, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::window(4, -3), 0.7))
SWEEP_OF_THREE(attention_prefix_call, (real<d, c, b>, real<e, d, c>, real<c, d, e>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::window(3, 1) | mtf::visible::prefix(2), -1.1))
SWEEP_OF_THREE(attention_whole_call, (real<c, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::everything(), 0.7))
SWEEP_OF_FOUR(attention_lengths_call, (real<c, b, d>, real<c, e, d>, real<e, c, d>, whole<c>),
              mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(3), w, 0.7))
SWEEP_OF_THREE(attention_grouped_call, (real<c, a, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(), 0.7))
SWEEP_OF_FOUR(attention_grouped_lengths_call, (real<b, d, a, c>, real<e, d>, real<d, e>, whole<c>),
              mtf::attention<b, e, d>(x, y, z, mtf::visible::window(5, 2), w, -0.9))
MAY_GO_ROUND(attention)
MAY_GO_ROUND(attention_turned)
MAY_GO_ROUND(attention_band)
MAY_GO_ROUND(attention_prefix)
MAY_GO_ROUND(attention_whole)
MAY_GO_ROUND(attention_lengths)
MAY_GO_ROUND(attention_grouped)
MAY_GO_ROUND(attention_grouped_lengths)
constexpr std::uint64_t seed_of_attention = 6;
SWEEP_OF_THREE(attention_capped_call, (real<c, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(2),
                                       mtf::attention_options{.scale = 1.7, .soft_cap = 0.8}))
SWEEP_OF_FOUR(attention_biased, (real<c, b, d>, real<c, e, d>, real<e, c, d>, real<b, e, c>),
              mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(2), mtf::attention_options{.scale = 0.7},
                                      mtf::attention_bias(w)))
SWEEP_OF_FOUR(attention_biased_alike_call, (real<c, a, b, d>, real<c, e, d>, real<e, c, d>, real<e, a>),
              mtf::attention<b, e, d>(x, y, z, mtf::visible::window(4, 2),
                                      mtf::attention_options{.scale = -0.6, .soft_cap = 0.9}, mtf::attention_bias(w)))
SWEEP_OF_FIVE(attention_packed_call, (real<c, b, d>, real<c, e, d>, real<e, c, d>, whole<b, c>, whole<e>),
              mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(3), mtf::attention_options{.scale = 0.7},
                                      mtf::attention_segments(w, v)))
SWEEP_OF_FOUR(attention_dropped_call, (real<b, d, a, c>, real<e, d>, real<d, e>, whole<c>),
              mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(3),
                                      mtf::attention_options{
                                          .scale = 0.7, .dropout = 0.4, .key = mtf::random_key(seed_of_attention)},
                                      mtf::attention_lengths(w)))
SWEEP_OF_THREE(attention_wide_call, (real<c, b, d>, real<c, e, d>, real<e, c, a>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(1), 0.7))
MAY_GO_ROUND(attention_capped)
MAY_GO_ROUND(attention_biased_alike)
MAY_GO_ROUND(attention_packed)
MAY_GO_ROUND(attention_dropped)
MAY_GO_ROUND(attention_wide)
SWEEP_OF_THREE(rotary_halves, (real<c, b, d>, real<b, d>, real<d, b>), mtf::rotary<d>(x, y, z))
SWEEP_OF_THREE(rotary_neighbours, (real<a, d, b>, real<d>, real<a, d>),
               (mtf::rotary<d, mtf::rotary_pairs::neighbours>(x, y, z)))
SWEEP_OF_THREE(layer_norm_a, (real<b, a, c>, real<a>, real<a>), mtf::layer_norm<a>(x, y, z, 1e-3))
SWEEP_OF_THREE(layer_norm_b, (real<a, b>, real<b>, real<b>), mtf::layer_norm<b>(x, y, z))
SWEEP_OF_THREE(batch_norm_ac, (real<a, b, c>, real<b>, real<b>), std::get<0>(mtf::batch_norm<c, a>(x, y, z, 1e-3)))
SWEEP_OF_THREE(batch_norm_b, (real<b, a, c>, real<c, a>, real<a, c>), std::get<0>(mtf::batch_norm<b>(x, y, z)))
SWEEP_OF_THREE(batch_norm_all, (real<a, b>, real<>, real<>), std::get<0>(mtf::batch_norm<a, b>(x, y, z, 0.1)))
SWEEP_OF_THREE(batch_norm_mean, (real<a, b>, real<b>, real<b>), std::get<1>(mtf::batch_norm<a>(x, y, z)))
SWEEP_OF_THREE(batch_norm_variance, (real<a, b>, real<b>, real<b>), std::get<2>(mtf::batch_norm<a>(x, y, z)))
constexpr int groups_of_a = extent_of[0] % 2 == 0 ? 2 : 1;
struct groups : mtf::dim<"groups", groups_of_a> {};
struct within : mtf::dim<"within", extent_of[0] / groups_of_a> {};
SWEEP_OF_THREE(group_norm_b, (real<c, a, b>, real<a>, real<a>), (mtf::group_norm<a, groups, within, b>(x, y, z, 1e-3)))
SWEEP_OF_THREE(group_norm_alone, (real<a, c>, real<a>, real<a>), (mtf::group_norm<a, groups, within>(x, y, z, 0.1)))
SWEEP_OF_TWO(rms_norm_a, (real<c, b, a>, real<a>), mtf::rms_norm<a>(x, y, 1e-3))
SWEEP_OF_TWO(rms_norm_b, (real<b, a>, real<b>), mtf::rms_norm<b>(x, y))
SWEEP_OF_TWO(loss_a, (real<b, c, a>, whole<b, c>), mtf::cross_entropy<a>(x, y))
SWEEP_OF_TWO(loss_b, (real<a, b, c>, whole<c, a>), mtf::cross_entropy<b>(x, y))
SWEEP_OF_TWO(loss_smoothed, (real<b, c, a>, whole<b, c>),
             mtf::cross_entropy<a>(x, y, {.label_smoothing = 0.3, .z_loss = 0.2}))
SWEEP_OF_TWO(loss_z, (real<a, b, c>, whole<c, a>), mtf::cross_entropy<b>(x, y, {.label_smoothing = 0, .z_loss = 0.5}))
SWEEP_OF_THREE(loss_linear, (real<b, a>, real<c, a>, whole<b>), mtf::linear_cross_entropy<c>(x, y, z))
SWEEP_OF_THREE(loss_linear_turned, (real<a, d, b>, real<d, c>, whole<b, a>),
               mtf::linear_cross_entropy<c>(x, y, z, {.label_smoothing = 0.3, .z_loss = 0.2}))
SWEEP_OF_TWO(sigmoid_loss, (real<a, b, c>, real<c, a>), mtf::sigmoid_cross_entropy(x, y))
SWEEP_OF_TWO(sigmoid_loss_of_labels, (real<b, a>, whole<a, b>), mtf::sigmoid_cross_entropy(x, y))
SWEEP_OF_TWO(glu, (real<a, b, c>, real<a, b, c>), mtf::glu(x, y))
SWEEP_OF_TWO(reglu, (real<a, b>, real<b, a>), mtf::reglu(x, y))
SWEEP_OF_TWO(geglu, (real<a, b, c>, real<b>), mtf::geglu(x, y))
SWEEP_OF_TWO(swiglu, (real<b>, real<a, b>), mtf::swiglu(x, y))
constexpr std::uint64_t seed_of_dropout = 5;
SWEEP_OF_ONE(dropout, (real<a, b, c>), mtf::dropout(x, 0.4, mtf::random_key(seed_of_dropout)))
SWEEP_OF_ONE(dropout_b, (real<a, b, c>), mtf::dropout<b>(x, 0.4, mtf::random_key(seed_of_dropout)))
SWEEP_OF_ONE(dropout_ac, (real<a, b, c>), mtf::dropout<c, a>(x, 0.4, mtf::random_key(seed_of_dropout)))

documentation const attentions{
    .names = {"attention"},
    .call =
        "attention<query, key, head>(q, k, v, seen, scale), attention<query, key, head>(q, k, v, seen, lengths, "
        "scale), "
        "attention<query, key, head>(q, k, v, seen, {.scale, .soft_cap, .dropout, .key}, attention_bias(b), "
        "attention_lengths(n), attention_segments(of_queries, of_keys))",
    .meaning =
        "The sum over the keys of softmax(scale q k) v, the softmax over the keys that the query sees, and that are "
        "below its sequence's length, and of its segment; 0 where there is none. Keys and values may lack dimensions "
        "of "
        "the queries, and values have a dimension of their own in place of the head. Scores may be capped, by "
        "cap tanh(score / cap), have a bias added, and weights be dropped.",
    .forward =
        "the key: over axes that also split what the queries have (their dimension, or heads that the keys lack), k "
        "and v go round: each rank sends its part p - 1 times, fewer where what hides keys leaves nothing to see; over "
        "others two all-reduces of one number a query, and the result is partial. Where k and v go round, a bias or "
        "segments that the key's axes split are gathered. The head: one all-reduce of the scores, which are stored, as "
        "they are where a dimension of the values' own is split; then the key's axes may split nothing else. Others: "
        "nothing",
    .backward =
        "as forward, and the gradients of k and v are sent as often as these; over axes of the keys alone one "
        "all-reduce of one number a query; the head: one of the scores. The gradient of q is partial over the key's "
        "axes that do not split it, those of k and v over those of what the queries alone have, if they do not split "
        "the key, those of q and k over those of a dimension of the values' own, that of a bias over those of what it "
        "lacks of the scores; one that was gathered is reduce-scattered",
    .partial = "reduced"};
documentation const rotaries{
    .names = {"rotary"},
    .call = "rotary<dim>(x, cosines, sines), rotary<dim, rotary_pairs::neighbours>(x, cosines, sines)",
    .meaning =
        "Pairs of elements along the dimension are turned: x c - y s and y c + x s. No gradient goes to cosines and "
        "sines.",
    .forward = "along the dimension: what a relayout sends that gathers it; others: nothing",
    .backward = "the reverse",
    .partial = "stays partial; cosines and sines: reduced"};
documentation const layer_norms{
    .names = {"layer_norm"},
    .call = "layer_norm<dim>(x, gamma, beta, epsilon)",
    .meaning =
        "(x - mean) / sqrt(variance + epsilon) gamma + beta along the dimension; beta, or both, may be left out.",
    .forward = "along the dimension: two all-reduces of one number a row; others: nothing",
    .backward =
        "along the dimension: one all-reduce of two numbers a row. The gradients of gamma and beta are partial "
        "over the axes of the other dimensions; a gradient that arrives partial is reduced",
    .partial = "reduced"};
documentation const batch_norms{
    .names = {"batch_norm"},
    .call = "batch_norm<dims...>(x, gamma, beta, epsilon)",
    .meaning =
        "y, mean and variance: (x - mean) / sqrt(variance + epsilon) gamma + beta, the statistics along the "
        "dimensions, "
        "gamma and beta along all others. No gradient goes through the statistics that are returned.",
    .forward = "along the dimensions: two all-reduces of the mean's size; others: nothing",
    .backward =
        "along the dimensions: one all-reduce of twice the mean's size, after which the gradients of gamma and beta "
        "are "
        "reduced; a gradient that arrives partial is reduced",
    .partial = "reduced"};
documentation const group_norms{
    .names = {"group_norm"},
    .call = "group_norm<dim, group, within, dims...>(x, gamma, beta, epsilon)",
    .meaning = "batch_norm over the neighbours of a group along the dimension, and over further dimensions.",
    .forward = "as for split_dim, batch_norm and merge_dims",
    .backward = "as for these",
    .partial = "reduced"};
documentation const rms_norms{
    .names = {"rms_norm"},
    .call = "rms_norm<dim>(x, gamma, epsilon)",
    .meaning = "x / sqrt(mean of squares + epsilon) gamma along the dimension; gamma may be left out.",
    .forward = "along the dimension: one all-reduce of one number a row; others: nothing",
    .backward = "as for layer_norm",
    .partial = "reduced"};
documentation const losses{.names = {"cross_entropy"},
                           .call = "cross_entropy<classes>(logits, labels, {.label_smoothing = 0.1, .z_loss = 1e-4})",
                           .meaning =
                               "-log softmax(logits)[label] along the classes; labels are int32. The options, both 0 "
                               "if not given: a share of the mean over all classes, a factor of the squared "
                               "logsumexp.",
                           .forward =
                               "the classes: an all-reduce of one number a row and one of two, of three with "
                               "label_smoothing; others: nothing",
                           .backward = "as for logsumexp",
                           .partial = "reduced"};
documentation const linear_losses{
    .names = {"linear_cross_entropy"},
    .call = "linear_cross_entropy<classes>(h, table, labels, {.label_smoothing = 0.1, .z_loss = 1e-4})",
    .meaning =
        "cross_entropy of einsum(h, table), whose logits are made for some rows at a time, and once more backward.",
    .forward =
        "the classes: as for cross_entropy; the features: an all-reduce of the logits, which are stored; others: "
        "nothing",
    .backward = "as for cross_entropy; the gradients are partial over the axes that the other operand alone has",
    .partial = "reduced"};
documentation const sigmoid_losses{.names = {"sigmoid_cross_entropy"},
                                   .call = "sigmoid_cross_entropy(logits, targets)",
                                   .meaning =
                                       "-(target log s + (1 - target) log(1 - s)), s = sigmoid(logit), element by "
                                       "element; targets are from 0 to 1, also bools.",
                                   .forward = "nothing",
                                   .backward = "as for x + y",
                                   .partial = "reduced"};
documentation const gates{.names = {"glu", "reglu", "geglu", "swiglu"},
                          .call = "glu(x, gate), reglu(x, gate), geglu(x, gate), swiglu(x, gate)",
                          .meaning = "x times sigmoid(gate), relu(gate), gelu(gate) or silu(gate), element by element.",
                          .forward = "nothing",
                          .backward = "as for x * y",
                          .partial = "x as in x * y; the gate is reduced"};
documentation const dropouts{.names = {"dropout"},
                             .call = "dropout(x, rate, key), dropout<dims...>(x, rate, key)",
                             .meaning =
                                 "Each element is 0 with probability rate, else divided by 1 - rate; the same for "
                                 "every layout. With dimensions, "
                                 "one draw for all positions along them.",
                             .forward = "nothing",
                             .backward = "nothing",
                             .partial = "stays partial"};

/// The statistics along what goes away are taken twice; backward both sums at once.
closed_form batch_norm(set gone) {
  return [=](situation const& s) {
    place const& x = s.in[0];
    auto const statistics = forms::payload(s.mesh, x.without(gone));
    auto const axes = axes_of(x.split, gone);
    answer a;
    a.out = x.without(0);
    for (auto const& p : s.in) forms::take_sum(a.forward, s.mesh, p.partial, p);
    for (int i = 0; i < 2; ++i) a.all_reduce(a.forward, axes, statistics);
    forms::take_sum(a.backward, s.mesh, s.seed, a.out);
    a.all_reduce(a.backward, axes, 2 * statistics);
    a.gradients.assign(s.in.size(), 0);
    return a;
  };
}
closed_form batch_statistics(set gone) {
  return forms::forward_only([=](situation const& s) {
    answer a = batch_norm(gone)(s);
    a.out = s.in[0].without(gone);
    return a;
  });
}
/// Of several operations, each of which has a form of its own.
closed_form group_norm() {
  return [=](situation const& s) {
    answer a;
    a.out = s.in[0].without(0);
    a.sends_known = a.partial_known = false;
    return a;
  };
}

bool causal(int query, int key) { return key <= query; }

/// The gate's sum is taken, then x is multiplied.
answer gate_first(situation s) {
  std::vector<event> sum;
  forms::take_sum(sum, s.mesh, s.in[1].partial, s.in[1]);
  s.in[1].partial = 0;
  answer a = forms::elementwise(forms::through::multiplicative, {0, 1})(s);
  a.forward.insert(a.forward.begin(), sum.begin(), sum.end());
  return a;
}
/// Labels become elements before they meet the logits, so their sum is taken first; they have no gradient.
answer labels_first(situation s) {
  std::swap(s.in[0], s.in[1]);
  answer a = forms::elementwise(forms::through::none, {1, 0})(s);
  a.gradients = {a.gradients[1], 0};
  return a;
}

}  // namespace

std::vector<operation> nn_operations() {
  auto const attends = [](define::sees shows, double scale) {
    return define::attention(1, 4, 3, std::move(shows), scale);
  };
  auto const sends = [](define::sees shows, forms::attention_operands const& besides = {}) {
    return forms::attention(1, 4, 3, std::move(shows), besides);
  };
  define::sees const band = [](int q, int k) { return k + 3 <= q && q < k + 7; };
  define::sees const with_prefix = [](int q, int k) { return (k <= q + 1 && q < k + 2) || k < 2; };
  define::sees const ahead = [](int q, int k) { return k <= q + 3; };
  define::sees const all = [](int, int) { return true; };
  define::sees const next = [](int q, int k) { return k <= q + 1; };
  define::sees const next_but_one = [](int q, int k) { return k <= q + 2; };
  define::sees const nearer = [](int q, int k) { return k <= q + 2 && q < k + 2; };
  define::sees const near = [](int q, int k) { return k <= q + 2 && q < k + 3; };
  auto const attends_by = [](define::sees shows, define::attention_terms const& terms) {
    return define::attention(1, 4, 3, std::move(shows), terms);
  };
  std::vector<operation> ops{
      adding<attention>("attention<b, e, d>(q[c, b, d], k, v, causal)", attentions, attends(causal, 0.7), sends(causal))
          .rings(4, bit(3))
          .hides(),
      adding<attention_turned>("attention<b, e, d>(q[d, c, b], k, v, causal)", attentions, attends(causal, -1.1),
                               sends(causal))
          .rings(4, bit(3))
          .hides(),
      // The first queries see nothing.
      adding<attention_band>("attention<b, e, d>(q[c, b, d], k, v, window)", attentions, attends(band, 0.7),
                             sends(band))
          .rings(4, bit(3))
          .hides(),
      adding<attention_prefix>("attention<b, e, d>(q[d, c, b], k, v, window and prefix)", attentions,
                               attends(with_prefix, -1.1), sends(with_prefix))
          .rings(4, bit(3))
          .hides(),
      adding<attention_lengths>("attention<b, e, d>(q[c, b, d], k, v, causal, lengths[c])", attentions,
                                attends(ahead, 0.7), sends(ahead))
          .drawn(-1, E + 2, 3)
          .rings(4, bit(3))
          .hides(),
      adding<attention_whole>("attention<b, e, d>(q[c, b, d], k, v, everything)", attentions, attends(all, 0.7),
                              sends(all))
          .rings(4, bit(3))
          .hides(),
      adding<attention_grouped>("attention<b, e, d>(q[c, a, b, d], k[c, e, d], v, causal)", attentions,
                                attends(causal, 0.7), sends(causal))
          .rings(4, bit(3))
          .hides(),
      adding<attention_grouped_lengths>("attention<b, e, d>(q[b, d, a, c], k[e, d], v, window, lengths[c])", attentions,
                                        attends(near, -0.9), sends(near))
          .drawn(-1, E + 2, 3)
          .rings(4, bit(3))
          .hides(),
      adding<attention_stored>("attention<b, e, d>(q[c, b, d], k, v, causal), without a ring", attentions,
                               attends(causal, 0.7), sends(causal))
          .hides(),
      adding<attention_capped>("attention<b, e, d>(q[c, b, d], k, v, causal, soft cap)", attentions,
                               attends_by(next_but_one, {.scale = 1.7, .soft_cap = 0.8}), sends(next_but_one))
          .rings(4, bit(3))
          .hides(),
      adding<attention_biased>("attention<b, e, d>(q[c, b, d], k, v, causal, bias[b, e, c])", attentions,
                               attends_by(next_but_one, {.scale = 0.7, .bias = 3}), sends(next_but_one, {.bias = 3}))
          .rings(4, bit(3))
          .hides(),
      adding<attention_biased_alike>("attention<b, e, d>(q[c, a, b, d], k[c, e, d], v, window, soft cap, bias[e, a])",
                                     attentions, attends_by(nearer, {.scale = -0.6, .soft_cap = 0.9, .bias = 3}),
                                     sends(nearer, {.bias = 3}))
          .rings(4, bit(3))
          .hides(),
      adding<attention_packed>("attention<b, e, d>(q[c, b, d], k, v, causal, segments[b, c] and [e])", attentions,
                               attends_by(ahead, {.scale = 0.7, .query_ids = 3, .key_ids = 4}),
                               sends(ahead, {.key_ids = 4}))
          .drawn(0, 3, 3)
          .drawn(0, 3, 4)
          .rings(4, bit(3))
          .hides(),
      adding<attention_dropped>(
          "attention<b, e, d>(q[b, d, a, c], k[e, d], v, causal, lengths[c], dropout)", attentions,
          attends_by(
              ahead,
              {.scale = 0.7, .dropped = 0.4, .drop_key = mtf::random_key(seed_of_attention).bits(), .lengths = 3}),
          sends(ahead))
          .drawn(-1, E + 2, 3)
          .rings(4, bit(3))
          .hides(),
      adding<attention_wide>("attention<b, e, d>(q[c, b, d], k[c, e, d], v[e, c, a], causal)", attentions,
                             attends_by(next, {.scale = 0.7, .values = 0}), sends(next, {.values = 0}))
          .rings(4, bit(3) | bit(0))
          .hides(),
      adding<rotary_halves>("rotary<d>(x[c, b, d], cosines[b, d], sines[d, b])", rotaries, define::rotary(3, false),
                            forms::rotary(3)),
      adding<rotary_neighbours>("rotary<d, neighbours>(x[a, d, b], cosines[d], sines[a, d])", rotaries,
                                define::rotary(3, true), forms::rotary(3)),
      adding<layer_norm_a>("layer_norm<a>(x[b, a, c], gamma, beta)", layer_norms, define::layer_norm(0, 1e-3),
                           forms::norm(0, 2)),
      adding<layer_norm_b>("layer_norm<b>(x[a, b], gamma, beta)", layer_norms, define::layer_norm(1, 1e-5),
                           forms::norm(1, 2)),
      adding<batch_norm_ac>("batch_norm<c, a>(x[a, b, c], gamma, beta)", batch_norms, define::batch_norm({0, 2}, 1e-3),
                            batch_norm(bit(0) | bit(2))),
      adding<batch_norm_b>("batch_norm<b>(x[b, a, c], gamma[c, a], beta[a, c])", batch_norms,
                           define::batch_norm({1}, 1e-5), batch_norm(bit(1))),
      adding<batch_norm_all>("batch_norm<a, b>(x[a, b], gamma, beta)", batch_norms, define::batch_norm({0, 1}, 0.1),
                             batch_norm(bit(0) | bit(1))),
      adding<batch_norm_mean>("mean of batch_norm<a>(x[a, b], gamma, beta)", batch_norms, define::mean(),
                              batch_statistics(bit(0)))
          .without_gradient(),
      adding<batch_norm_variance>("variance of batch_norm<a>(x[a, b], gamma, beta)", batch_norms, define::variance(),
                                  batch_statistics(bit(0)))
          .without_gradient(),
      adding<group_norm_b>("group_norm<a, groups, within, b>(x[c, a, b], gamma, beta)", group_norms,
                           define::group_norm(0, within::extent, {1}, 1e-3), group_norm())
          .without_pads(bit(0)),
      adding<group_norm_alone>("group_norm<a, groups, within>(x[a, c], gamma, beta)", group_norms,
                               define::group_norm(0, within::extent, {}, 0.1), group_norm())
          .without_pads(bit(0)),
      adding<rms_norm_a>("rms_norm<a>(x[c, b, a], gamma)", rms_norms, define::rms_norm(0, 1e-3), forms::norm(0, 1)),
      adding<rms_norm_b>("rms_norm<b>(x[b, a], gamma)", rms_norms, define::rms_norm(1, 1e-6), forms::norm(1, 1)),
      adding<loss_a>("cross_entropy<a>(x[b, c, a], labels[b, c])", losses, define::cross_entropy(0),
                     forms::cross_entropy(0))
          .drawn(0, A, 1),
      adding<loss_b>("cross_entropy<b>(x[a, b, c], labels[c, a])", losses, define::cross_entropy(1),
                     forms::cross_entropy(1))
          .drawn(0, B, 1),
      adding<loss_smoothed>("cross_entropy<a>(x[b, c, a], labels[b, c], smoothed)", losses,
                            define::cross_entropy(0, 0.3, 0.2), forms::cross_entropy(0, 3))
          .drawn(0, A, 1),
      adding<loss_z>("cross_entropy<b>(x[a, b, c], labels[c, a], z_loss)", losses, define::cross_entropy(1, 0, 0.5),
                     forms::cross_entropy(1))
          .drawn(0, B, 1),
      adding<loss_linear>("linear_cross_entropy<c>(h[b, a], table[c, a], labels[b])", linear_losses,
                          define::linear_cross_entropy(2), forms::linear_cross_entropy(2, 0))
          .drawn(0, C, 2),
      adding<loss_linear_turned>("linear_cross_entropy<c>(h[a, d, b], table[d, c], labels[b, a], smoothed)",
                                 linear_losses, define::linear_cross_entropy(2, 0.3, 0.2),
                                 forms::linear_cross_entropy(2, 3, 3))
          .drawn(0, C, 2),
      entry<sigmoid_loss>("sigmoid_cross_entropy(x[a, b, c], targets[c, a])", sigmoid_losses,
                          define::pointwise(define::sigmoid_cross_entropy),
                          forms::elementwise(forms::through::none, {0, 1, 2}))
          .drawn(-3, 3)
          .drawn(0, 1, 1),
      entry<sigmoid_loss_of_labels>("sigmoid_cross_entropy(x[b, a], labels[a, b])", sigmoid_losses,
                                    define::pointwise(define::sigmoid_cross_entropy), labels_first)
          .drawn(-3, 3)
          .drawn(0, 2, 1),
      entry<glu>("glu(x, gate)", gates, define::gated([](define::tape& t, define::number x) { return t.sigmoid(x); }),
                 forms::elementwise(forms::through::first, {0, 1, 2})),
      entry<reglu>("reglu(x[a, b], gate[b, a])", gates, define::gated(define::relu), gate_first),
      entry<geglu>("geglu(x[a, b, c], gate[b])", gates, define::gated(define::gelu),
                   forms::elementwise(forms::through::first, {0, 1, 2})),
      entry<swiglu>("swiglu(x[b], gate[a, b])", gates, define::gated(define::silu),
                    forms::elementwise(forms::through::first, {0, 1})),
      entry<dropout>("dropout(x, 0.4, key)", dropouts, define::dropout(0.4, mtf::random_key(seed_of_dropout).bits()),
                     forms::same({0, 1, 2})),
      entry<dropout_b>("dropout<b>(x, 0.4, key)", dropouts,
                       define::shared_dropout(0.4, mtf::random_key(seed_of_dropout).bits(), {1}),
                       forms::same({0, 1, 2})),
      entry<dropout_ac>("dropout<c, a>(x, 0.4, key)", dropouts,
                        define::shared_dropout(0.4, mtf::random_key(seed_of_dropout).bits(), {0, 2}),
                        forms::same({0, 1, 2})),
  };
  return ops;
}

}  // namespace sweep
