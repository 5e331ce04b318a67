// Attention, rotary positions, norms, the loss, dropout. Softmax, masked or not, lies with reductions in
// include/mtf/ops and so here (reduction_cases.cpp).
#include <cstdint>

#include <mtf/ops/nn.hpp>
#include "../definitions/nn.hpp"

#include "entry.hpp"

namespace sweep {

namespace {

SWEEP_OF_THREE(attention, (real<c, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(), 0.7))
SWEEP_OF_THREE(attention_turned, (real<d, c, b>, real<e, d, c>, real<c, d, e>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(), -1.1))
SWEEP_OF_THREE(attention_band, (real<c, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::window(4, -3), 0.7))
SWEEP_OF_THREE(attention_prefix, (real<d, c, b>, real<e, d, c>, real<c, d, e>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::window(3, 1) | mtf::visible::prefix(2), -1.1))
SWEEP_OF_THREE(attention_whole, (real<c, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::everything(), 0.7))
SWEEP_OF_FOUR(attention_lengths, (real<c, b, d>, real<c, e, d>, real<e, c, d>, whole<c>),
              mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(3), w, 0.7))
SWEEP_OF_THREE(attention_grouped, (real<c, a, b, d>, real<c, e, d>, real<e, c, d>),
               mtf::attention<b, e, d>(x, y, z, mtf::visible::causal(), 0.7))
SWEEP_OF_FOUR(attention_grouped_lengths, (real<b, d, a, c>, real<e, d>, real<d, e>, whole<c>),
              mtf::attention<b, e, d>(x, y, z, mtf::visible::window(5, 2), w, -0.9))
SWEEP_OF_THREE(rotary_halves, (real<c, b, d>, real<b, d>, real<d, b>), mtf::rotary<d>(x, y, z))
SWEEP_OF_THREE(rotary_neighbours, (real<a, d, b>, real<d>, real<a, d>),
               (mtf::rotary<d, mtf::rotary_pairs::neighbours>(x, y, z)))
SWEEP_OF_THREE(layer_norm_a, (real<b, a, c>, real<a>, real<a>), mtf::layer_norm<a>(x, y, z, 1e-3))
SWEEP_OF_THREE(layer_norm_b, (real<a, b>, real<b>, real<b>), mtf::layer_norm<b>(x, y, z))
SWEEP_OF_TWO(rms_norm_a, (real<c, b, a>, real<a>), mtf::rms_norm<a>(x, y, 1e-3))
SWEEP_OF_TWO(rms_norm_b, (real<b, a>, real<b>), mtf::rms_norm<b>(x, y))
SWEEP_OF_TWO(loss_a, (real<b, c, a>, whole<b, c>), mtf::cross_entropy<a>(x, y))
SWEEP_OF_TWO(loss_b, (real<a, b, c>, whole<c, a>), mtf::cross_entropy<b>(x, y))
constexpr std::uint64_t seed_of_dropout = 5;
SWEEP_OF_ONE(dropout, (real<a, b, c>), mtf::dropout(x, 0.4, mtf::random_key(seed_of_dropout)))

documentation const attentions{
    .names = {"attention"},
    .call =
        "attention<query, key, head>(q, k, v, seen, scale), attention<query, key, head>(q, k, v, seen, lengths, scale)",
    .meaning =
        "The sum over the keys of softmax(scale q k) v, the softmax over the keys that the query sees, and that are "
        "below its sequence's length; 0 where there is none. Keys and values may lack dimensions of the queries.",
    .forward =
        "the head: one all-reduce of the scores; the key: two all-reduces of one number a row of scores, and the "
        "result "
        "is partial over its axes; others: nothing. With any of the three split the scores are stored",
    .backward =
        "the key: one all-reduce of one number a row of scores; the head: one of the scores. The gradient of q is "
        "partial over the key's axes, those of k and v over those of what the queries alone have",
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
documentation const rms_norms{
    .names = {"rms_norm"},
    .call = "rms_norm<dim>(x, gamma, epsilon)",
    .meaning = "x / sqrt(mean of squares + epsilon) gamma along the dimension; gamma may be left out.",
    .forward = "along the dimension: one all-reduce of one number a row; others: nothing",
    .backward = "as for layer_norm",
    .partial = "reduced"};
documentation const losses{.names = {"cross_entropy"},
                           .call = "cross_entropy<classes>(logits, labels)",
                           .meaning = "-log softmax(logits)[label] along the classes; labels are int32.",
                           .forward = "the classes: an all-reduce of one number a row and one of two; others: nothing",
                           .backward = "as for logsumexp",
                           .partial = "reduced"};
documentation const dropouts{
    .names = {"dropout"},
    .call = "dropout(x, rate, key)",
    .meaning = "Each element is 0 with probability rate, else divided by 1 - rate; the same for every layout.",
    .forward = "nothing",
    .backward = "nothing",
    .partial = "stays partial"};

bool causal(int query, int key) { return key <= query; }

}  // namespace

std::vector<operation> nn_operations() {
  auto const attends = [](define::sees shows, double scale) {
    return define::attention(1, 4, 3, std::move(shows), scale);
  };
  std::vector<operation> ops{
      adding<attention>("attention<b, e, d>(q[c, b, d], k, v, causal)", attentions, attends(causal, 0.7),
                        forms::attention(4, 3))
          .hides(),
      adding<attention_turned>("attention<b, e, d>(q[d, c, b], k, v, causal)", attentions, attends(causal, -1.1),
                               forms::attention(4, 3))
          .hides(),
      // The first queries see nothing.
      adding<attention_band>("attention<b, e, d>(q[c, b, d], k, v, window)", attentions,
                             attends([](int q, int k) { return k + 3 <= q && q < k + 7; }, 0.7), forms::attention(4, 3))
          .hides(),
      adding<attention_prefix>("attention<b, e, d>(q[d, c, b], k, v, window and prefix)", attentions,
                               attends([](int q, int k) { return (k <= q + 1 && q < k + 2) || k < 2; }, -1.1),
                               forms::attention(4, 3))
          .hides(),
      adding<attention_lengths>("attention<b, e, d>(q[c, b, d], k, v, causal, lengths[c])", attentions,
                                attends([](int q, int k) { return k <= q + 3; }, 0.7), forms::attention(4, 3))
          .drawn(-1, E + 2, 3)
          .hides(),
      adding<attention_whole>("attention<b, e, d>(q[c, b, d], k, v, everything)", attentions,
                              attends([](int, int) { return true; }, 0.7), forms::attention(4, 3))
          .hides(),
      adding<attention_grouped>("attention<b, e, d>(q[c, a, b, d], k[c, e, d], v, causal)", attentions,
                                attends(causal, 0.7), forms::attention(4, 3))
          .hides(),
      adding<attention_grouped_lengths>("attention<b, e, d>(q[b, d, a, c], k[e, d], v, window, lengths[c])", attentions,
                                        attends([](int q, int k) { return k <= q + 2 && q < k + 3; }, -0.9),
                                        forms::attention(4, 3))
          .drawn(-1, E + 2, 3)
          .hides(),
      adding<rotary_halves>("rotary<d>(x[c, b, d], cosines[b, d], sines[d, b])", rotaries, define::rotary(3, false),
                            forms::rotary(3)),
      adding<rotary_neighbours>("rotary<d, neighbours>(x[a, d, b], cosines[d], sines[a, d])", rotaries,
                                define::rotary(3, true), forms::rotary(3)),
      adding<layer_norm_a>("layer_norm<a>(x[b, a, c], gamma, beta)", layer_norms, define::layer_norm(0, 1e-3),
                           forms::norm(0, 2)),
      adding<layer_norm_b>("layer_norm<b>(x[a, b], gamma, beta)", layer_norms, define::layer_norm(1, 1e-5),
                           forms::norm(1, 2)),
      adding<rms_norm_a>("rms_norm<a>(x[c, b, a], gamma)", rms_norms, define::rms_norm(0, 1e-3), forms::norm(0, 1)),
      adding<rms_norm_b>("rms_norm<b>(x[b, a], gamma)", rms_norms, define::rms_norm(1, 1e-6), forms::norm(1, 1)),
      adding<loss_a>("cross_entropy<a>(x[b, c, a], labels[b, c])", losses, define::cross_entropy(0),
                     forms::cross_entropy(0))
          .drawn(0, A, 1),
      adding<loss_b>("cross_entropy<b>(x[a, b, c], labels[c, a])", losses, define::cross_entropy(1),
                     forms::cross_entropy(1))
          .drawn(0, B, 1),
      entry<dropout>("dropout(x, 0.4, key)", dropouts, define::dropout(0.4, mtf::random_key(seed_of_dropout).bits()),
                     forms::same({0, 1, 2})),
  };
  return ops;
}

}  // namespace sweep
