// Reductions, and operations on rows: softmax, norms, the loss.
#include <cmath>

#include "define.hpp"

namespace sweep {

namespace {

SWEEP_OF_ONE(sum_b, (real<a, b, c>), mtf::sum<b>(x))
SWEEP_OF_ONE(sum_ac, (real<a, b, c>), mtf::sum<c, a>(x))
SWEEP_OF_ONE(sum_all, (real<a, b>), mtf::sum(x))
SWEEP_OF_ONE(mean_a, (real<a, b, c>), mtf::mean<a>(x))
SWEEP_OF_ONE(mean_all, (real<a, b>), mtf::mean(x))
SWEEP_OF_ONE(mean_integers, (whole<a, c>), mtf::mean<c>(x))
SWEEP_OF_TWO(weighted_b, (real<a, b>, real<b, a>), mtf::weighted_mean<b>(x, y))
SWEEP_OF_TWO(weighted_all, (real<a, c>, whole<a, c>), mtf::weighted_mean(x, y))
SWEEP_OF_ONE(max_b, (real<a, b, c>), mtf::reduce_max<b>(x))
SWEEP_OF_ONE(max_tied, (real<a, b, c>), mtf::reduce_max<a>(x))
SWEEP_OF_ONE(min_ac, (real<a, b, c>), mtf::reduce_min<a, c>(x))
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
SWEEP_OF_ONE(causal, (real<c, b, e>), mtf::causal_softmax<b, e>(x, 1.5))
SWEEP_OF_ONE(causal_turned, (real<e, c, b>), mtf::causal_softmax<b, e>(x))
SWEEP_OF_THREE(attention, (real<c, b, d>, real<c, e, d>, real<e, c, d>), mtf::causal_attention<b, e, d>(x, y, z, 0.7))
SWEEP_OF_THREE(attention_turned, (real<d, c, b>, real<e, d, c>, real<c, d, e>),
               mtf::causal_attention<b, e, d>(x, y, z, -1.1))
SWEEP_OF_THREE(layer_norm_a, (real<b, a, c>, real<a>, real<a>), mtf::layer_norm<a>(x, y, z, 1e-3))
SWEEP_OF_THREE(layer_norm_b, (real<a, b>, real<b>, real<b>), mtf::layer_norm<b>(x, y, z))
SWEEP_OF_TWO(rms_norm_a, (real<c, b, a>, real<a>), mtf::rms_norm<a>(x, y, 1e-3))
SWEEP_OF_TWO(rms_norm_b, (real<b, a>, real<b>), mtf::rms_norm<b>(x, y))
SWEEP_OF_TWO(loss_a, (real<b, c, a>, whole<b, c>), mtf::cross_entropy<a>(x, y))
SWEEP_OF_TWO(loss_b, (real<a, b, c>, whole<c, a>), mtf::cross_entropy<b>(x, y))

documentation const sums{.names = {"sum", "mean"},
                         .call = "sum<dims...>(x), mean<dims...>(x)",
                         .meaning =
                             "The sum or mean along the dimensions; along all if none is named. Means of integers and "
                             "bools are float, sums of bools counts.",
                         .forward = "nothing; the result is partial over the axes of a summed dimension",
                         .backward =
                             "nothing; a gradient that arrives partial over an axis that splits x is completed: one "
                             "all-reduce of the result",
                         .partial = "stays partial"};
documentation const weighted_means{
    .names = {"weighted_mean"},
    .call = "weighted_mean<dims...>(x, weights)",
    .meaning = "sum(x weights) / sum(weights), both along the dimensions or all, of all ranks.",
    .forward =
        "one all-reduce of the sum of the weights over the axes of a summed dimension; the result is partial over them",
    .backward = "as for a product, two sums and a quotient",
    .partial = "x stays partial, weights are completed"};
documentation const extremes{
    .names = {"reduce_max", "reduce_min"},
    .call = "reduce_max<dims...>(x), reduce_min<dims...>(x)",
    .meaning =
        "The largest or smallest element along the dimensions, or all, NaN if there is one; the gradient "
        "goes to every element that equals it.",
    .forward = "one all-reduce of the result over the axes of a reduced dimension",
    .backward = "as for sum",
    .partial = "completed"};
documentation const products{
    .names = {"reduce_prod"},
    .call = "reduce_prod<dims...>(x)",
    .meaning =
        "The product of the elements along the dimensions, or all, NaN if there is one; the gradient of an element is "
        "the product of all others, exact with zeros too.",
    .forward = "one all-gather of the result, over the axes of a reduced dimension",
    .backward = "as for sum",
    .partial = "completed"};
documentation const softmaxes{
    .names = {"softmax", "log_softmax", "causal_softmax"},
    .call = "softmax<dim>(x, scale), log_softmax<dim>(x), causal_softmax<query, key>(x, scale)",
    .meaning =
        "exp(scale x) normalized to sum 1 along the dimension, or its logarithm; causal: "
        "over the keys whose position does not exceed the query's.",
    .forward = "along the dimension: two all-reduces of one number a row; others: nothing",
    .backward = "along the dimension: one all-reduce of one number a row; others: nothing",
    .partial = "completed"};
documentation const attentions{
    .names = {"causal_attention"},
    .call = "causal_attention<query, key, head>(q, k, v, scale)",
    .meaning =
        "The sum over the keys of softmax(scale q k) v, the softmax over the keys whose position does not exceed the "
        "query's.",
    .forward =
        "the head: one all-reduce of the scores; the key: two all-reduces of one number a row of scores, and the "
        "result "
        "is partial over its axes; others: nothing. With any of the three split the scores are stored",
    .backward =
        "the key: one all-reduce of one number a row of scores; the head: one of the scores. The gradient of q is "
        "partial over the key's axes, those of k and v over the query's",
    .partial = "completed"};
documentation const logsumexps{
    .names = {"logsumexp"},
    .call = "logsumexp<dim>(x)",
    .meaning = "log sum exp along the dimension, which the result lacks.",
    .forward = "along the dimension: two all-reduces of the result; others: nothing",
    .backward =
        "nothing; a gradient that arrives partial over the dimension's axes is completed: one all-reduce of the result",
    .partial = "completed"};
documentation const layer_norms{
    .names = {"layer_norm"},
    .call = "layer_norm<dim>(x, gamma, beta, epsilon)",
    .meaning = "(x - mean) / sqrt(variance + epsilon) gamma + beta along the dimension.",
    .forward = "along the dimension: two all-reduces of one number a row; others: nothing",
    .backward =
        "along the dimension: one all-reduce of two numbers a row. The gradients of gamma and beta are partial "
        "over the axes of the other dimensions; a gradient that arrives partial is completed",
    .partial = "completed"};
documentation const rms_norms{.names = {"rms_norm"},
                              .call = "rms_norm<dim>(x, gamma, epsilon)",
                              .meaning = "x / sqrt(mean of squares + epsilon) gamma along the dimension.",
                              .forward = "along the dimension: one all-reduce of one number a row; others: nothing",
                              .backward = "as for layer_norm",
                              .partial = "completed"};
documentation const losses{.names = {"cross_entropy"},
                           .call = "cross_entropy<classes>(logits, labels)",
                           .meaning = "-log softmax(logits)[label] along the classes; labels are int32.",
                           .forward = "the classes: an all-reduce of one number a row and one of two; others: nothing",
                           .backward = "as for logsumexp",
                           .partial = "completed"};

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

/// As a maximum, but that the ranks' results are gathered.
closed_form product(set gone) {
  return [=](situation const& s) {
    answer a = forms::extreme(gone)(s);
    if (axes_of(s.in[0].split, gone) != 0) a.forward.back().kind = collective::all_gather;
    return a;
  };
}

using all = std::vector<numbers> const&;
using definition = std::function<numbers(std::vector<numbers> const&)>;

template <class Op>
operation entry(std::string name, documentation const& text, definition define, closed_form sends) {
  operation op = with_cases<Op>(std::move(name), text);
  op.define = std::move(define);
  op.sends = std::move(sends);
  return op;
}

/// Rows of n numbers that lie `inner` apart: row r is (r / inner, r % inner). f(x, y) makes n numbers of n.
template <class F>
definition by_rows(std::size_t n, std::size_t inner, F f) {
  return [=](all x) {
    numbers y(x[0].size()), row(n), made(n);
    for (std::size_t r = 0; r < x[0].size() / n; ++r) {
      std::size_t const first = r / inner * inner * n + r % inner;
      for (std::size_t j = 0; j < n; ++j) row[j] = x[0][first + j * inner];
      f(row, made, x);
      for (std::size_t j = 0; j < n; ++j) y[first + j * inner] = made[j];
    }
    return y;
  };
}
/// The same, one number of n.
template <class F>
definition one_a_row(std::size_t n, std::size_t inner, F f) {
  return [=](all x) {
    numbers y, row(n);
    for (std::size_t r = 0; r < x[0].size() / n; ++r) {
      for (std::size_t j = 0; j < n; ++j) row[j] = x[0][r / inner * inner * n + r % inner + j * inner];
      y.push_back(f(row));
    }
    return y;
  };
}

double product_of(numbers const& x) {
  double y = 1;
  for (double const v : x) y *= v;
  return y;
}
double sum_exp(numbers const& x, double scale) {
  double s = 0;
  for (double const v : x) s += std::exp(scale * v);
  return s;
}
void softmax_of(numbers const& x, numbers& y, double scale) {
  double const s = sum_exp(x, scale);
  for (std::size_t j = 0; j < x.size(); ++j) y[j] = std::exp(scale * x[j]) / s;
}
void log_softmax_of(numbers const& x, numbers& y, all) {
  double const s = sum_exp(x, 1);
  for (std::size_t j = 0; j < x.size(); ++j) y[j] = x[j] - std::log(s);
}
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
/// x[i, j, k] for attention scores: i over blocks, q the query, k the key.
numbers causal_of(numbers const& x, double scale, std::array<std::size_t, 3> stride) {
  numbers y(x.size());
  for (std::size_t i = 0; i < C; ++i)
    for (std::size_t q = 0; q < B; ++q) {
      double s = 0;
      auto const at = [&](std::size_t k) { return i * stride[0] + q * stride[1] + k * stride[2]; };
      for (std::size_t k = 0; k <= q; ++k) s += std::exp(scale * x[at(k)]);
      for (std::size_t k = 0; k <= q; ++k) y[at(k)] = std::exp(scale * x[at(k)]) / s;
    }
  return y;
}

/// Positions in q, k and v are i, s, h times these: i of what they share, s of the sequence, h of the head.
using strides = std::array<std::size_t, 3>;
numbers attention_of(all x, double scale, strides q, strides k, strides v) {
  numbers y(x[0].size());
  auto const at = [](strides const& by, std::size_t i, std::size_t s, std::size_t h) {
    return i * by[0] + s * by[1] + h * by[2];
  };
  for (std::size_t i = 0; i < C; ++i)
    for (std::size_t n = 0; n < B; ++n) {
      numbers weight;
      double sum = 0;
      for (std::size_t m = 0; m <= n; ++m) {
        double score = 0;
        for (std::size_t h = 0; h < D; ++h) score += x[0][at(q, i, n, h)] * x[1][at(k, i, m, h)];
        weight.push_back(std::exp(scale * score));
        sum += weight.back();
      }
      for (std::size_t m = 0; m <= n; ++m)
        for (std::size_t h = 0; h < D; ++h) y[at(q, i, n, h)] += weight[m] / sum * x[2][at(v, i, m, h)];
    }
  return y;
}

}  // namespace

std::vector<operation> operations_of_rows() {
  std::vector<operation> ops{
      entry<sum_b>("sum<b>(x[a, b, c])", sums, one_a_row(B, C, [](numbers const& x) {
                     double s = 0;
                     for (double const v : x) s += v;
                     return s;
                   }),
                   forms::sum(bit(1))),
      entry<sum_ac>("sum<c, a>(x[a, b, c])", sums,
                    [](all x) {
                      numbers y(B);
                      for (std::size_t i = 0; i < A; ++i)
                        for (std::size_t j = 0; j < B; ++j)
                          for (std::size_t k = 0; k < C; ++k) y[j] += x[0][(i * B + j) * C + k];
                      return y;
                    },
                    forms::sum(bit(0) | bit(2))),
      entry<sum_all>("sum(x[a, b])", sums,
                     [](all x) {
                       double s = 0;
                       for (double const v : x[0]) s += v;
                       return numbers{s};
                     },
                     forms::sum(bit(0) | bit(1))),
      entry<mean_a>("mean<a>(x[a, b, c])", sums, one_a_row(A, B * C, [](numbers const& x) {
                      double s = 0;
                      for (double const v : x) s += v;
                      return s / A;
                    }),
                    forms::sum(bit(0))),
      entry<mean_all>("mean(x[a, b])", sums,
                      [](all x) {
                        double s = 0;
                        for (double const v : x[0]) s += v;
                        return numbers{s / (A * B)};
                      },
                      forms::sum(bit(0) | bit(1))),
      entry<mean_integers>("mean<c>(x[a, c]) of integers", sums, one_a_row(C, 1, [](numbers const& x) {
                             double s = 0;
                             for (double const v : x) s += v;
                             return s / static_cast<double>(C);
                           }),
                           completed_sum(bit(2))),
      entry<weighted_b>("weighted_mean<b>(x[a, b], weights[b, a])", weighted_means,
                        [](all x) {
                          numbers y(A);
                          for (std::size_t i = 0; i < A; ++i) {
                            double s = 0, w = 0;
                            for (std::size_t j = 0; j < B; ++j) {
                              s += x[0][i * B + j] * x[1][j * A + i];
                              w += x[1][j * A + i];
                            }
                            y[i] = s / w;
                          }
                          return y;
                        },
                        composed(bit(1))),
      entry<weighted_all>("weighted_mean(x[a, c], weights[a, c]), integers", weighted_means,
                          [](all x) {
                            double s = 0, w = 0;
                            for (std::size_t i = 0; i < A * C; ++i) s += x[0][i] * x[1][i], w += x[1][i];
                            return numbers{s / w};
                          },
                          composed(bit(0) | bit(2))),
      entry<max_b>("reduce_max<b>(x[a, b, c])", extremes, one_a_row(B, C, [](numbers const& x) {
                     double m = x[0];
                     for (double const v : x) m = larger(m, v);
                     return m;
                   }),
                   forms::extreme(bit(1))),
      entry<max_tied>("reduce_max<a>(x[a, b, c]), with ties", extremes, one_a_row(A, B * C, [](numbers const& x) {
                        double m = x[0];
                        for (double const v : x) m = larger(m, v);
                        return m;
                      }),
                      forms::extreme(bit(0))),
      entry<min_ac>("reduce_min<a, c>(x[a, b, c])", extremes,
                    [](all x) {
                      numbers y(B, HUGE_VAL);
                      for (std::size_t i = 0; i < A; ++i)
                        for (std::size_t j = 0; j < B; ++j)
                          for (std::size_t k = 0; k < C; ++k)
                            y[j] = smaller(y[j], x[0][(i * B + j) * C + k]);
                      return y;
                    },
                    forms::extreme(bit(0) | bit(2))),
      entry<prod_b>("reduce_prod<b>(x[a, b, c])", products, one_a_row(B, C, product_of), product(bit(1))),
      entry<prod_ac>("reduce_prod<c, a>(x[a, b, c])", products,
                     [](all x) {
                       numbers y(B, 1.0);
                       for (std::size_t i = 0; i < A; ++i)
                         for (std::size_t j = 0; j < B; ++j)
                           for (std::size_t k = 0; k < C; ++k) y[j] *= x[0][(i * B + j) * C + k];
                       return y;
                     },
                     product(bit(0) | bit(2))),
      entry<prod_all>("reduce_prod(x[b, a])", products, [](all x) { return numbers{product_of(x[0])}; },
                      product(bit(0) | bit(1))),
      entry<prod_zeros>("reduce_prod<c>(x[a, c, b]), with zeros", products, one_a_row(C, B, product_of),
                        product(bit(2))),
      entry<prod_integers>("reduce_prod<c>(x[a, c]) of integers", products, one_a_row(C, 1, product_of),
                           product(bit(2))),
      entry<softmax_a>("softmax<a>(x[a, b, c], 1.5)", softmaxes,
                       by_rows(A, B * C, [](numbers const& x, numbers& y, all) { softmax_of(x, y, 1.5); }),
                       forms::rows(0, {1, 1}, {1}, false)),
      entry<softmax_c>("softmax<c>(x[a, b, c])", softmaxes,
                       by_rows(C, 1, [](numbers const& x, numbers& y, all) { softmax_of(x, y, 1); }),
                       forms::rows(2, {1, 1}, {1}, false)),
      entry<log_softmax_b>("log_softmax<b>(x[a, b, c])", softmaxes, by_rows(B, C, log_softmax_of),
                           forms::rows(1, {1, 1}, {1}, false)),
      entry<log_softmax_c>("log_softmax<c>(x[a, c])", softmaxes, by_rows(C, 1, log_softmax_of),
                           forms::rows(2, {1, 1}, {1}, false)),
      entry<logsumexp_b>("logsumexp<b>(x[a, b, c])", logsumexps,
                         one_a_row(B, C, [](numbers const& x) { return std::log(sum_exp(x, 1)); }),
                         forms::rows(1, {1, 1}, {}, true)),
      entry<logsumexp_a>("logsumexp<a>(x[b, a])", logsumexps,
                         one_a_row(A, 1, [](numbers const& x) { return std::log(sum_exp(x, 1)); }),
                         forms::rows(0, {1, 1}, {}, true)),
      entry<causal>("causal_softmax<b, e>(x[c, b, e], 1.5)", softmaxes,
                    [](all x) { return causal_of(x[0], 1.5, {B * E, E, 1}); }, forms::rows(4, {1, 1}, {1}, false)),
      entry<causal_turned>("causal_softmax<b, e>(x[e, c, b])", softmaxes,
                           [](all x) { return causal_of(x[0], 1, {B, 1, C * B}); }, forms::rows(4, {1, 1}, {1}, false)),
      entry<attention>("causal_attention<b, e, d>(q[c, b, d], k, v)", attentions,
                       [](all x) { return attention_of(x, 0.7, {B * D, D, 1}, {E * D, D, 1}, {D, C * D, 1}); },
                       forms::attention(1, 4, 3)),
      entry<attention_turned>("causal_attention<b, e, d>(q[d, c, b], k, v)", attentions,
                              [](all x) { return attention_of(x, -1.1, {B, 1, C * B}, {1, D * C, C}, {D * E, 1, E}); },
                              forms::attention(1, 4, 3)),
      entry<layer_norm_a>("layer_norm<a>(x[b, a, c], gamma, beta)", layer_norms,
                          by_rows(A, C, [](numbers const& x, numbers& y, all p) { layer_norm_of(x, y, p, 1e-3); }),
                          forms::norm(0, 2)),
      entry<layer_norm_b>("layer_norm<b>(x[a, b], gamma, beta)", layer_norms,
                          by_rows(B, 1, [](numbers const& x, numbers& y, all p) { layer_norm_of(x, y, p, 1e-5); }),
                          forms::norm(1, 2)),
      entry<rms_norm_a>("rms_norm<a>(x[c, b, a], gamma)", rms_norms,
                        by_rows(A, 1, [](numbers const& x, numbers& y, all p) { rms_norm_of(x, y, p, 1e-3); }),
                        forms::norm(0, 1)),
      entry<rms_norm_b>("rms_norm<b>(x[b, a], gamma)", rms_norms,
                        by_rows(B, A, [](numbers const& x, numbers& y, all p) { rms_norm_of(x, y, p, 1e-6); }),
                        forms::norm(1, 1)),
      entry<loss_a>("cross_entropy<a>(x[b, c, a], labels[b, c])", losses,
                    [](all x) {
                      numbers y(B * C);
                      for (std::size_t r = 0; r < B * C; ++r) {
                        double s = 0;
                        for (std::size_t i = 0; i < A; ++i) s += std::exp(x[0][r * A + i]);
                        y[r] = std::log(s) - x[0][r * A + static_cast<std::size_t>(x[1][r])];
                      }
                      return y;
                    },
                    forms::cross_entropy(0)),
      entry<loss_b>("cross_entropy<b>(x[a, b, c], labels[c, a])", losses,
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
                    forms::cross_entropy(1)),
  };
  for (auto& op : ops) {
    if (op.name.starts_with("mean<c>")) op.differentiable = false, op.in[0].low = -20, op.in[0].high = 20;
    if (op.name.starts_with("weighted_mean")) op.in[1].low = op.name.ends_with("integers") ? 0 : 0.5, op.in[1].high = 3;
    op.sums = !op.name.starts_with("reduce_m");
    op.masks = op.name.starts_with("causal_attention");
    if (op.name.starts_with("cross_entropy<a>")) op.in[1].low = 0, op.in[1].high = A;
    if (op.name.starts_with("cross_entropy<b>")) op.in[1].low = 0, op.in[1].high = B;
    if (op.name.starts_with("reduce_") || op.name.starts_with("causal_softmax")) op.in[0].low = -3, op.in[0].high = 3;
    if (op.name.starts_with("reduce_prod")) {
      op.chained = true;  // in another order a product may be 0 before it meets an infinity
      op.in[0].low = 0.75, op.in[0].high = 1.25;
      if (op.name.ends_with("zeros")) op.in[0].integers = true, op.in[0].low = -1, op.in[0].high = 3;
      if (op.name.ends_with("integers")) op.differentiable = false, op.in[0].low = -1, op.in[0].high = 2;
    }
    if (op.name.ends_with("ties")) {
      op.in[0].integers = true;
      op.gradient = [](all x, numbers const& weights, std::size_t) {
        numbers g(x[0].size());
        for (std::size_t r = 0; r < B * C; ++r) {
          double m = x[0][r];
          for (std::size_t i = 0; i < A; ++i) m = x[0][i * B * C + r] > m ? x[0][i * B * C + r] : m;
          for (std::size_t i = 0; i < A; ++i) g[i * B * C + r] = x[0][i * B * C + r] == m ? weights[r] : 0;
        }
        return g;
      };
    }
  }
  return ops;
}

}  // namespace sweep
