#pragma once
// Attention and its gradients by plain loops in double, and what kernels give for the same problem.
#include <array>
#include <cmath>

#include "kernels_fixture.hpp"

namespace kernels {
using mtf::visible;
using mtf::backend::attention_shape;
using vec = std::vector<double>;

struct extents {
  index batch, heads, queries, keys, head;
};

/// Where row s of (batch, head) lies: the last dimension is always the row.
struct order {
  index batch, heads, row;
};
enum class kind { batch_sequence_heads, batch_heads_sequence, heads_sequence_batch };
inline order order_of(kind o, extents const& e, index length) {
  switch (o) {
    case kind::batch_sequence_heads:
      return {length * e.heads * e.head, e.head, e.heads * e.head};
    case kind::batch_heads_sequence:
      return {e.heads * length * e.head, length * e.head, e.head};
    case kind::heads_sequence_batch:
      return {e.head, length * e.batch * e.head, e.batch * e.head};
  }
  return {};
}

struct problem {
  extents e;
  order q, k, v;
  double scale;
  visible seen = visible::causal();
  vec lengths{};  // of each sequence, if it has not all keys

  index values = e.head;  // the width of values and results
  order out = q;
  double soft_cap = 0;
  struct strides {
    index batch, heads, query, key;
  };
  strides bias{};
  index bias_count = 0;
  vec query_ids{}, key_ids{};  // [batch, query], [key, batch]
  double dropped = 0;
  static constexpr std::uint64_t drop_key = 77;

  [[nodiscard]] bool sees(index b, index h, index i, index j) const {
    return seen.sees(i, j) && (lengths.empty() || static_cast<double>(j) < lengths[size(b * e.heads + h)]) &&
           (query_ids.empty() || query_ids[size(b * e.queries + i)] == key_ids[size(j * e.batch + b)]);
  }
  [[nodiscard]] std::size_t bias_at(index b, index h, index i, index j) const {
    return size(b * bias.batch + h * bias.heads + i * bias.query + j * bias.key);
  }
  /// By what dropout multiplies a weight; `e` is a part of a tensor with three more heads, of which these are the last.
  [[nodiscard]] index weight(index b, index h, index i, index j) const {
    return ((b * (e.heads + 3) + h + 3) * e.queries + i) * e.keys + j;
  }
  [[nodiscard]] double kept(index b, index h, index i, index j) const {
    mtf::kokkos::dropout_rate const rate(dropped);
    return mtf::kokkos::dropout_half(drop_key, weight(b, h, i, j)) >= rate.threshold ? rate.factor : 0;
  }
  [[nodiscard]] attention_shape shape() const {
    attention_shape s;
    s.batch = {.ndim = 2,
               .extent = {e.batch, e.heads},
               .stride = {{{q.batch, q.heads},
                           {k.batch, k.heads},
                           {v.batch, v.heads},
                           {out.batch, out.heads},
                           {bias.batch, bias.heads},
                           {e.queries, 0},
                           {1, 0},
                           {weight(1, 0, 0, 0) - weight(0, 0, 0, 0), weight(0, 1, 0, 0) - weight(0, 0, 0, 0)}}}};
    s.queries = e.queries;
    s.keys = e.keys;
    s.head = e.head;
    s.values = values;
    s.q_row = q.row;
    s.out_row = out.row;
    s.soft_cap = soft_cap;
    s.biased = bias_count > 0;
    s.bias_query = bias.query;
    s.bias_key = bias.key;
    s.query_ids_step = 1;
    s.key_ids_step = e.batch;
    s.dropped = dropped;
    s.drop_key = drop_key;
    s.first_weight = weight(0, 0, 0, 0);
    s.weights_row = e.keys;
    s.k_row = k.row;
    s.v_row = v.row;
    s.seen = seen;
    return s;
  }
  [[nodiscard]] index query_count() const { return e.batch * e.heads * e.queries * e.head; }
  [[nodiscard]] index out_count() const { return e.batch * e.heads * e.queries * values; }
  [[nodiscard]] index key_rows() const { return e.batch * (k.heads == 0 ? 1 : e.heads) * e.keys; }
  [[nodiscard]] index key_count() const { return key_rows() * e.head; }
  [[nodiscard]] index value_count() const { return key_rows() * values; }
};

inline std::size_t at(order const& o, index b, index h, index s) {
  return static_cast<std::size_t>(b * o.batch + h * o.heads + s * o.row);
}

/// Calls f(b, h, i, weights of all keys, 0 of those that query i does not see, the scores' derivatives).
template <class F>
void each_query(problem const& p, vec const& q, vec const& k, vec const& bias, F const& f) {
  for (index b = 0; b < p.e.batch; ++b)
    for (index h = 0; h < p.e.heads; ++h)
      for (index i = 0; i < p.e.queries; ++i) {
        vec weight, slope;
        double sum = 0, largest = -HUGE_VAL;
        for (index j = 0; j < p.e.keys; ++j) {
          double score = 0;
          for (std::size_t d = 0; d < static_cast<std::size_t>(p.e.head); ++d)
            score += q[at(p.q, b, h, i) + d] * k[at(p.k, b, h, j) + d];
          score *= p.scale;
          double const t = p.soft_cap == 0 ? 0 : std::tanh(score / p.soft_cap);
          slope.push_back(p.scale * (1 - t * t));
          if (p.soft_cap != 0) score = p.soft_cap * t;
          if (!bias.empty()) score += bias[p.bias_at(b, h, i, j)];
          weight.push_back(p.sees(b, h, i, j) ? score : -HUGE_VAL);
          largest = std::max(largest, weight.back());
        }
        for (double& w : weight) sum += w = w == -HUGE_VAL ? 0 : std::exp(w - largest);
        for (double& w : weight) w = sum == 0 ? 0 : w / sum;
        f(b, h, i, weight, slope);
      }
}

template <class T>
void check(problem const& p) {
  using A = compute_t<T>;
  CAPTURE(p.e.queries);
  CAPTURE(p.e.keys);
  CAPTURE(p.e.head);
  CAPTURE(to_string(p.seen));
  array<T> q(numbers(p.query_count(), 1)), k(numbers(p.key_count(), 2)), v(numbers(p.value_count(), 3)),
      out(p.out_count());
  array<T> g(numbers(p.out_count(), 4)), dq(p.query_count()), dk(p.key_count()), dv(p.value_count());
  array<T> bias(numbers(p.bias_count, 5)), dbias(p.bias_count);
  array<std::int32_t> const query_ids(p.query_ids), key_ids(p.key_ids);
  index const rows = p.e.batch * p.e.heads * p.e.queries;
  array<A> max(rows), sum(rows);
  array<std::int32_t> const lengths(p.lengths);
  auto shape = p.shape();
  if (!p.lengths.empty()) shape.lengths = lengths.get();
  if (!p.query_ids.empty()) {
    shape.query_ids = query_ids.get();
    shape.key_ids = key_ids.get();
  }
  auto const live = device().memory().live;
  device().run(
      primitives::attention{shape, A(p.scale), out.get(), max.get(), sum.get(), q.get(), k.get(), v.get(), bias.get()});
  device().run(primitives::attention_vjp{shape, A(p.scale), dq.get(), dk.get(), dv.get(), q.get(), k.get(), v.get(),
                                         out.get(), max.get(), sum.get(), g.get(), bias.get()});
  if (p.bias_count > 0)
    device().run(primitives::attention_bias_vjp{shape, A(p.scale), dbias.get(), q.get(), k.get(), v.get(), out.get(),
                                                max.get(), sum.get(), g.get(), bias.get()});
  CHECK(device().memory().live == live);

  vec const hq = q.host(), hk = k.host(), hv = v.host(), hg = g.host(), hbias = bias.host();
  vec o(hg.size()), gq(hq.size()), gk(hk.size()), gv(hv.size()), gbias(hbias.size());
  auto const head = static_cast<std::size_t>(p.e.head), width = static_cast<std::size_t>(p.values);
  each_query(p, hq, hk, hbias, [&](index b, index h, index i, vec const& weight, vec const& slope) {
    auto const here = at(p.out, b, h, i), query = at(p.q, b, h, i);
    vec dweight(weight.size());
    double mean = 0;
    for (std::size_t j = 0; j < weight.size(); ++j) {
      auto const value = at(p.v, b, h, static_cast<index>(j));
      double const kept = p.kept(b, h, i, static_cast<index>(j));
      for (std::size_t d = 0; d < width; ++d) {
        o[here + d] += kept * weight[j] * hv[value + d];
        gv[value + d] += kept * weight[j] * hg[here + d];
        dweight[j] += kept * hg[here + d] * hv[value + d];
      }
      mean += weight[j] * dweight[j];
    }
    for (std::size_t j = 0; j < weight.size(); ++j) {
      auto const key = at(p.k, b, h, static_cast<index>(j));
      double const dscore = weight[j] * (dweight[j] - mean);
      if (!gbias.empty()) gbias[p.bias_at(b, h, i, static_cast<index>(j))] += dscore;
      for (std::size_t d = 0; d < head; ++d) {
        gq[query + d] += slope[j] * dscore * hk[key + d];
        gk[key + d] += slope[j] * dscore * hq[query + d];
      }
    }
  });
  check_close(out.host(), o, tolerance<T>);
  check_close(dq.host(), gq, 4 * tolerance<T>);
  check_close(dk.host(), gk, 4 * tolerance<T>);
  check_close(dv.host(), gv, 4 * tolerance<T>);
  check_close(dbias.host(), gbias, 4 * tolerance<T>);
}

}  // namespace kernels
