// Attention, norms, the loss, dropout. Softmax, masked or not, lies with reductions in include/mtf/ops and so here
// (reduction_cases.cpp).
#include <cmath>
#include <type_traits>

#include "define.hpp"
#include "philox.hpp"

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
        "below "
        "its sequence's length; 0 where there is none.",
    .forward =
        "the head: one all-reduce of the scores; the key: two all-reduces of one number a row of scores, and the "
        "result "
        "is partial over its axes; others: nothing. With any of the three split the scores are stored",
    .backward =
        "the key: one all-reduce of one number a row of scores; the head: one of the scores. The gradient of q is "
        "partial over the key's axes, those of k and v over the query's",
    .partial = "reduced"};
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

using all = std::vector<numbers> const&;

void layer_norm_of(numbers const& x, numbers& y, all p, double epsilon) {
  double mean = 0, variance = 0;
  auto const n = static_cast<double>(x.size());
  for (double const v : x) mean += v / n;
  for (double const v : x) variance += (v - mean) * (v - mean) / n;
  for (std::size_t j = 0; j < x.size(); ++j) y[j] = (x[j] - mean) / std::sqrt(variance + epsilon) * p[1][j] + p[2][j];
}
void rms_norm_of(numbers const& x, numbers& y, all p, double epsilon) {
  double squares = 0;
  for (double const v : x) squares += v * v / static_cast<double>(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) y[j] = x[j] / std::sqrt(squares + epsilon) * p[1][j];
}

/// Positions in q, k and v are i, s, h times these: i of what they share, s of the sequence, h of the head.
using strides = std::array<std::size_t, 3>;
bool before(std::size_t q, std::size_t k) { return k <= q; }
template <class Sees>
numbers attention_of(all x, double scale, strides q, strides k, strides v, Sees sees) {
  numbers y(x[0].size());
  auto const at = [](strides const& by, std::size_t i, std::size_t s, std::size_t h) {
    return i * by[0] + s * by[1] + h * by[2];
  };
  auto const shows = [&](std::size_t n, std::size_t m, [[maybe_unused]] std::size_t i) {
    if constexpr (std::is_invocable_v<Sees, std::size_t, std::size_t>)
      return sees(n, m);
    else
      return sees(n, m, i);
  };
  for (std::size_t i = 0; i < C; ++i)
    for (std::size_t n = 0; n < B; ++n) {
      numbers weight;
      double sum = 0;
      for (std::size_t m = 0; m < E; ++m) {
        double score = 0;
        for (std::size_t h = 0; h < D; ++h) score += x[0][at(q, i, n, h)] * x[1][at(k, i, m, h)];
        weight.push_back(shows(n, m, i) ? std::exp(scale * score) : 0);
        sum += weight.back();
      }
      for (std::size_t m = 0; m < E && sum > 0; ++m)
        for (std::size_t h = 0; h < D; ++h) y[at(q, i, n, h)] += weight[m] / sum * x[2][at(v, i, m, h)];
    }
  return y;
}

}  // namespace

std::vector<operation> nn_operations() {
  std::vector<operation> ops{
      adding<attention>(
          "attention<b, e, d>(q[c, b, d], k, v, causal)", attentions,
          [](all x) { return attention_of(x, 0.7, {B * D, D, 1}, {E * D, D, 1}, {D, C * D, 1}, before); },
          forms::attention(1, 4, 3))
          .hides(),
      adding<attention_turned>(
          "attention<b, e, d>(q[d, c, b], k, v, causal)", attentions,
          [](all x) { return attention_of(x, -1.1, {B, 1, C * B}, {1, D * C, C}, {D * E, 1, E}, before); },
          forms::attention(1, 4, 3))
          .hides(),
      // The first queries see nothing.
      adding<attention_band>(
          "attention<b, e, d>(q[c, b, d], k, v, window)", attentions,
          [](all x) {
            return attention_of(x, 0.7, {B * D, D, 1}, {E * D, D, 1}, {D, C * D, 1},
                                [](std::size_t n, std::size_t m) { return m + 3 <= n && n < m + 7; });
          },
          forms::attention(1, 4, 3))
          .hides(),
      adding<attention_prefix>(
          "attention<b, e, d>(q[d, c, b], k, v, window and prefix)", attentions,
          [](all x) {
            return attention_of(x, -1.1, {B, 1, C * B}, {1, D * C, C}, {D * E, 1, E},
                                [](std::size_t n, std::size_t m) { return (m <= n + 1 && n < m + 2) || m < 2; });
          },
          forms::attention(1, 4, 3))
          .hides(),
      adding<attention_lengths>(
          "attention<b, e, d>(q[c, b, d], k, v, causal, lengths[c])", attentions,
          [](all x) {
            return attention_of(x, 0.7, {B * D, D, 1}, {E * D, D, 1}, {D, C * D, 1},
                                [&](std::size_t n, std::size_t m, std::size_t i) {
                                  return m <= n + 3 && static_cast<double>(m) < x[3][i];
                                });
          },
          forms::attention(1, 4, 3))
          .drawn(-1, E + 2, 3)
          .hides(),
      adding<attention_whole>(
          "attention<b, e, d>(q[c, b, d], k, v, everything)", attentions,
          [](all x) {
            return attention_of(x, 0.7, {B * D, D, 1}, {E * D, D, 1}, {D, C * D, 1},
                                [](std::size_t, std::size_t) { return true; });
          },
          forms::attention(1, 4, 3))
          .hides(),
      adding<layer_norm_a>("layer_norm<a>(x[b, a, c], gamma, beta)", layer_norms,
                           by_rows(A, C, [](numbers const& x, numbers& y, all p) { layer_norm_of(x, y, p, 1e-3); }),
                           forms::norm(0, 2)),
      adding<layer_norm_b>("layer_norm<b>(x[a, b], gamma, beta)", layer_norms,
                           by_rows(B, 1, [](numbers const& x, numbers& y, all p) { layer_norm_of(x, y, p, 1e-5); }),
                           forms::norm(1, 2)),
      adding<rms_norm_a>("rms_norm<a>(x[c, b, a], gamma)", rms_norms,
                         by_rows(A, 1, [](numbers const& x, numbers& y, all p) { rms_norm_of(x, y, p, 1e-3); }),
                         forms::norm(0, 1)),
      adding<rms_norm_b>("rms_norm<b>(x[b, a], gamma)", rms_norms,
                         by_rows(B, A, [](numbers const& x, numbers& y, all p) { rms_norm_of(x, y, p, 1e-6); }),
                         forms::norm(1, 1)),
      adding<loss_a>(
          "cross_entropy<a>(x[b, c, a], labels[b, c])", losses,
          [](all x) {
            numbers y(B * C);
            for (std::size_t r = 0; r < B * C; ++r) {
              double s = 0;
              for (std::size_t i = 0; i < A; ++i) s += std::exp(x[0][r * A + i]);
              y[r] = std::log(s) - x[0][r * A + static_cast<std::size_t>(x[1][r])];
            }
            return y;
          },
          forms::cross_entropy(0))
          .drawn(0, A, 1),
      adding<loss_b>(
          "cross_entropy<b>(x[a, b, c], labels[c, a])", losses,
          [](all x) {
            numbers y(A * C);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t k = 0; k < C; ++k) {
                double s = 0;
                for (std::size_t j = 0; j < B; ++j) s += std::exp(x[0][(i * B + j) * C + k]);
                auto const label = static_cast<std::size_t>(x[1][k * A + i]);
                y[i * C + k] = std::log(s) - x[0][(i * B + label) * C + k];
              }
            return y;
          },
          forms::cross_entropy(1))
          .drawn(0, B, 1),
      entry<dropout>(
          "dropout(x, 0.4, key)", dropouts,
          [](all x) {
            numbers y;
            for (std::size_t i = 0; i < x[0].size(); ++i) {
              // Eight neighbours share a counter; a half word below rate * 2^16 drops its element.
              auto const words = philox(mtf::random_key(seed_of_dropout).bits(), i / 8, 0);
              auto const half = words[i % 8 / 2] >> (16 * (i % 2)) & 0xffffU;
              double const dropped = std::floor(0.4 * 0x1p16 + 0.5);
              y.push_back(half < dropped ? 0 : x[0][i] / (1 - dropped / 0x1p16));
            }
            return y;
          },
          forms::same({0, 1, 2})),
  };
  return ops;
}

}  // namespace sweep
