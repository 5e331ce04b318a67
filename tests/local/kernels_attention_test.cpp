// Attention and its gradients against plain loops in double: in blocks, ragged ones, and in several orders of
// dimensions.
#include <array>
#include <cmath>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

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
order order_of(kind o, extents const& e, index length) {
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

  [[nodiscard]] bool sees(index b, index h, index i, index j) const {
    return seen.sees(i, j) && (lengths.empty() || static_cast<double>(j) < lengths[size(b * e.heads + h)]);
  }
  [[nodiscard]] attention_shape shape() const {
    attention_shape s;
    s.batch = {.ndim = 2,
               .extent = {e.batch, e.heads},
               .stride = {{{q.batch, q.heads}, {k.batch, k.heads}, {v.batch, v.heads}}}};
    s.queries = e.queries;
    s.keys = e.keys;
    s.head = e.head;
    s.q_row = q.row;
    s.k_row = k.row;
    s.v_row = v.row;
    s.seen = seen;
    return s;
  }
  [[nodiscard]] index query_count() const { return e.batch * e.heads * e.queries * e.head; }
  [[nodiscard]] index key_count() const { return e.batch * e.heads * e.keys * e.head; }
};

std::size_t at(order const& o, index b, index h, index s) {
  return static_cast<std::size_t>(b * o.batch + h * o.heads + s * o.row);
}

/// Calls f(b, h, i, weights of all keys, 0 of those that query i does not see).
template <class F>
void each_query(problem const& p, vec const& q, vec const& k, F const& f) {
  for (index b = 0; b < p.e.batch; ++b)
    for (index h = 0; h < p.e.heads; ++h)
      for (index i = 0; i < p.e.queries; ++i) {
        vec weight;
        double sum = 0, largest = -HUGE_VAL;
        for (index j = 0; j < p.e.keys; ++j) {
          double score = 0;
          for (std::size_t d = 0; d < static_cast<std::size_t>(p.e.head); ++d)
            score += q[at(p.q, b, h, i) + d] * k[at(p.k, b, h, j) + d];
          weight.push_back(p.sees(b, h, i, j) ? p.scale * score : -HUGE_VAL);
          largest = std::max(largest, weight.back());
        }
        for (double& w : weight) sum += w = w == -HUGE_VAL ? 0 : std::exp(w - largest);
        for (double& w : weight) w = sum == 0 ? 0 : w / sum;
        f(b, h, i, weight);
      }
}

template <class T>
void check(problem const& p) {
  using A = compute_t<T>;
  CAPTURE(p.e.queries);
  CAPTURE(p.e.keys);
  CAPTURE(p.e.head);
  CAPTURE(to_string(p.seen));
  array<T> q(numbers(p.query_count(), 1)), k(numbers(p.key_count(), 2)), v(numbers(p.key_count(), 3)),
      out(p.query_count());
  array<T> g(numbers(p.query_count(), 4)), dq(p.query_count()), dk(p.key_count()), dv(p.key_count());
  index const rows = p.e.batch * p.e.heads * p.e.queries;
  array<A> max(rows), sum(rows);
  array<std::int32_t> const lengths(p.lengths);
  auto shape = p.shape();
  if (!p.lengths.empty()) shape.lengths = lengths.get();
  auto const live = device().memory().live;
  device().run(primitives::attention{shape, A(p.scale), out.get(), max.get(), sum.get(), q.get(), k.get(), v.get()});
  device().run(primitives::attention_vjp{shape, A(p.scale), dq.get(), dk.get(), dv.get(), q.get(), k.get(), v.get(),
                                         out.get(), max.get(), sum.get(), g.get()});
  CHECK(device().memory().live == live);

  vec const hq = q.host(), hk = k.host(), hv = v.host(), hg = g.host();
  vec o(hq.size()), gq(hq.size()), gk(hk.size()), gv(hv.size());
  auto const head = static_cast<std::size_t>(p.e.head);
  each_query(p, hq, hk, [&](index b, index h, index i, vec const& weight) {
    auto const here = at(p.q, b, h, i);
    vec dweight(weight.size());
    double mean = 0;
    for (std::size_t j = 0; j < weight.size(); ++j) {
      auto const value = at(p.v, b, h, static_cast<index>(j));
      for (std::size_t d = 0; d < head; ++d) {
        o[here + d] += weight[j] * hv[value + d];
        gv[value + d] += weight[j] * hg[here + d];
        dweight[j] += hg[here + d] * hv[value + d];
      }
      mean += weight[j] * dweight[j];
    }
    for (std::size_t j = 0; j < weight.size(); ++j) {
      auto const key = at(p.k, b, h, static_cast<index>(j));
      double const dscore = p.scale * weight[j] * (dweight[j] - mean);
      for (std::size_t d = 0; d < head; ++d) {
        gq[here + d] += dscore * hk[key + d];
        gk[key + d] += dscore * hq[here + d];
      }
    }
  });
  check_close(out.host(), o, tolerance<T>);
  check_close(dq.host(), gq, 4 * tolerance<T>);
  check_close(dk.host(), gk, 4 * tolerance<T>);
  check_close(dv.host(), gv, 4 * tolerance<T>);
}

}  // namespace

TEST_CASE_TEMPLATE("attention and its vjp", T, float, double, bfloat16) {
  extents const shapes[] = {{1, 1, 1, 1, 1},       {2, 3, 5, 5, 3},     {1, 2, 64, 64, 16}, {3, 1, 129, 129, 8},
                            {1, 1, 1100, 1100, 4}, {1, 3, 700, 700, 5}, {2, 1, 40, 600, 4}, {1, 1, 600, 130, 7},
                            {1, 1, 127, 1, 2},     {1, 1, 1, 300, 64}};
  for (auto const& e : shapes) {
    double const scale = 0.7 / std::sqrt(static_cast<double>(e.head));
    auto const straight = [&](kind o) {
      return problem{e, order_of(o, e, e.queries), order_of(o, e, e.keys), order_of(o, e, e.keys), scale};
    };
    check<T>(straight(kind::batch_sequence_heads));
    check<T>(straight(kind::batch_heads_sequence));
    check<T>({e, order_of(kind::heads_sequence_batch, e, e.queries), order_of(kind::batch_sequence_heads, e, e.keys),
              order_of(kind::batch_heads_sequence, e, e.keys), -scale});
  }
}

/// What queries may see, among them nothing, for sequences of these lengths.
std::vector<visible> views(index queries, index keys) {
  auto const causal = [](index offset) { return visible::causal(offset); };
  return {visible::everything(),
          causal(3),
          causal(-5),
          causal(keys - queries),
          causal(-queries),
          visible::window(1),
          visible::window(64),
          visible::window(100, 7),
          visible::window(300),
          visible::window(0),
          visible::window(5, keys),
          causal(0) | visible::prefix(10),
          causal(0) | visible::prefix(keys),
          causal(0) | visible::prefix(300),
          causal(0) & (visible::window(70) | visible::prefix(4)),
          visible::window(1, -70) | visible::prefix(3),
          visible::window(20) | visible::prefix(290)};
}

TEST_CASE_TEMPLATE("attention that sees in other ways", T, float, double, bfloat16) {
  extents const shapes[] = {
      {1, 1, 1, 1, 1}, {2, 1, 70, 70, 5}, {1, 1, 700, 700, 4}, {1, 2, 40, 600, 3}, {1, 1, 600, 130, 7}};
  for (auto const& e : shapes)
    for (auto const& seen : views(e.queries, e.keys)) {
      auto const o = [&](index length) { return order_of(kind::batch_sequence_heads, e, length); };
      double const scale = 0.7 / std::sqrt(static_cast<double>(e.head));
      check<T>({e, o(e.queries), o(e.keys), o(e.keys), e.head % 2 == 0 ? scale : -scale, seen});
    }
}

TEST_CASE_TEMPLATE("attention to sequences of several lengths", T, float, double, bfloat16) {
  extents const shapes[] = {{2, 3, 70, 70, 5}, {3, 2, 40, 600, 3}, {2, 2, 300, 130, 7}};
  for (auto const& e : shapes)
    for (auto const& seen : {visible::everything(), visible::causal(), visible::window(50, 100) | visible::prefix(3)}) {
      auto const o = [&](index length) { return order_of(kind::batch_sequence_heads, e, length); };
      vec lengths;  // some without keys, some longer than all
      for (index s = 0; s < e.batch * e.heads; ++s)
        lengths.push_back(static_cast<double>(s * e.keys / 4 - (s == 0 ? 1 : 0)));
      check<T>({e, o(e.queries), o(e.keys), o(e.keys), 0.5, seen, lengths});
    }
}

TEST_CASE_TEMPLATE("what is no other view is the same to the bit", T, float, double, bfloat16) {
  extents const e{1, 2, 300, 300, 8};
  order const o = order_of(kind::batch_sequence_heads, e, 300);
  auto const results = [&](visible const& seen) {
    using A = compute_t<T>;
    problem const p{e, o, o, o, 0.25, seen};
    array<T> q(numbers(p.query_count(), 1)), k(numbers(p.key_count(), 2)), v(numbers(p.key_count(), 3)),
        g(numbers(p.query_count(), 4)), out(p.query_count()), dq(p.query_count()), dk(p.key_count()), dv(p.key_count());
    array<A> max(index{600}), sum(index{600});
    device().run(primitives::attention{p.shape(), A(0.25), out.get(), max.get(), sum.get(), q.get(), k.get(), v.get()});
    device().run(primitives::attention_vjp{p.shape(), A(0.25), dq.get(), dk.get(), dv.get(), q.get(), k.get(), v.get(),
                                           out.get(), max.get(), sum.get(), g.get()});
    return std::vector<vec>{out.host(), dq.host(), dk.host(), dv.host()};
  };
  auto const causal = results(visible::causal());
  CHECK(results(visible::causal() & visible::everything()) == causal);
  CHECK(results(visible::causal() | visible::prefix(0)) == causal);
  CHECK(results(visible::causal(5) & visible::causal()) == causal);
  auto const everything = results(visible::everything());
  CHECK(results(visible::causal(299)) == everything);
  CHECK(results(visible::causal() | visible::prefix(300)) == everything);
  // With a window sums of several blocks begin at 0: the same numbers.
  auto const wide = results(visible::window(300));
  for (std::size_t i = 0; i < wide.size(); ++i) check_close(wide[i], causal[i], tolerance<T>);
}

#if MTF_PAIR_PRODUCTS
// Scores of these numbers are exact, in any order. Weights are rounded for their products.
TEST_CASE("bfloat16 by products of pairs") {
  using exec = Kokkos::DefaultExecutionSpace;
  using mtf::kokkos::pair_unit;
  mtf::kokkos::device<exec> on{exec{}};
  std::vector<pair_unit> units;
  if (__builtin_cpu_supports("avx512bf16")) units.push_back(pair_unit::dot);
  if (mtf::kokkos::fastest_pair_unit() == pair_unit::tiles) units.push_back(pair_unit::tiles);
  extents const shapes[] = {{2, 3, 70, 70, 1},    {1, 2, 64, 300, 5},  {1, 1, 300, 300, 32}, {2, 1, 129, 129, 63},
                            {1, 1, 600, 600, 64}, {1, 2, 50, 600, 40}, {1, 1, 600, 33, 80},  {1, 1, 1, 1, 16}};
  std::vector<std::pair<float, visible>> ways{{0.5F, visible::causal()}, {-0.25F, visible::causal()}};
  for (auto const& seen :
       {visible::everything(), visible::causal(7), visible::window(33, 1), visible::causal() | visible::prefix(41),
        visible::causal() & (visible::window(90) | visible::prefix(3)), visible::window(10, -40)})
    ways.emplace_back(0.5F, seen);
  for (auto const& e : shapes)
    for (auto const& [scale, seen] : ways) {
      CAPTURE(e.queries);
      CAPTURE(e.head);
      CAPTURE(to_string(seen));
      problem const p{e,
                      order_of(kind::batch_sequence_heads, e, e.queries),
                      order_of(kind::batch_sequence_heads, e, e.keys),
                      order_of(kind::batch_heads_sequence, e, e.keys),
                      scale,
                      seen};
      array<bfloat16> q(numbers(p.query_count(), 1)), k(numbers(p.key_count(), 2)), v(numbers(p.key_count(), 3)),
          g(numbers(p.query_count(), 4));
      array<bfloat16> out(p.query_count()), dq(p.query_count()), dk(p.key_count()), dv(p.key_count());
      index const rows = e.batch * e.heads * e.queries;
      array<float> max(rows), sum(rows);
      struct results {
        vec max, sum, out, dq, dk, dv;
      };
      auto const computed = [&](auto const& forward, auto const& backward) {
        mtf::kokkos::do_attention_tasks("forward", on, forward);
        mtf::kokkos::do_attention_vjp(on, backward);
        return results{max.host(), sum.host(), out.host(), dq.host(), dk.host(), dv.host()};
      };
      constexpr index workers = 1;
      auto const want =
          computed(mtf::kokkos::attention_forward_in_blocks<bfloat16>(p.shape(), scale, workers, out.get(), max.get(),
                                                                      sum.get(), q.get(), k.get(), v.get()),
                   mtf::kokkos::attention_backward_in_blocks<bfloat16>(p.shape(), scale, workers, dq.get(), dk.get(),
                                                                       dv.get(), q.get(), k.get(), v.get(), out.get(),
                                                                       max.get(), sum.get(), g.get()));
      for (pair_unit const unit : units) {
        CAPTURE(static_cast<int>(unit));
        auto const got =
            computed(mtf::kokkos::attention_forward_in_pairs(unit, p.shape(), scale, workers, out.get(), max.get(),
                                                             sum.get(), q.get(), k.get(), v.get()),
                     mtf::kokkos::attention_backward_in_pairs(unit, p.shape(), scale, workers, dq.get(), dk.get(),
                                                              dv.get(), q.get(), k.get(), v.get(), out.get(), max.get(),
                                                              sum.get(), g.get()));
        CHECK(got.max == want.max);
        CHECK(got.sum == want.sum);
        check_close(got.out, want.out, tolerance<bfloat16>);
        check_close(got.dq, want.dq, 4 * tolerance<bfloat16>);
        check_close(got.dk, want.dk, 4 * tolerance<bfloat16>);
        check_close(got.dv, want.dv, 4 * tolerance<bfloat16>);
      }
    }
}
#endif

TEST_CASE("causal attention stores nothing of the size of its scores") {
  if (!mtf::kokkos::runs_on_host<backend::execution_space>) return;
  extents const e{1, 1, 8192, 8192, 1};
  order const o = order_of(kind::batch_heads_sequence, e, 8192);
  problem const p{e, o, o, o, 1};
  array<float> q(numbers(8192, 1)), k(numbers(8192, 2)), v(numbers(8192, 3)), out(index{8192}), max(index{8192}),
      sum(index{8192});
  array<float> dq(index{8192}), dk(index{8192}), dv(index{8192});
  device().reset_peak();
  auto const live = device().memory().live;
  device().run(primitives::attention{p.shape(), 1.0F, out.get(), max.get(), sum.get(), q.get(), k.get(), v.get()});
  device().run(primitives::attention_vjp{p.shape(), 1.0F, dq.get(), dk.get(), dv.get(), q.get(), k.get(), v.get(),
                                         out.get(), max.get(), sum.get(), v.get()});
  CHECK(device().memory().peak - live < 8192 * 8192 * sizeof(float) / 4);
}

TEST_CASE("causal attention of large scores") {
  // Only relative to a row's largest are their exponentials finite.
  extents const e{1, 1, 700, 700, 1};
  order const o = order_of(kind::batch_heads_sequence, e, 700);
  problem const p{e, o, o, o, 2500};
  array<float> q(numbers(700, 1)), k(numbers(700, 2)), v(numbers(700, 3)), out(index{700}), max(index{700}),
      sum(index{700});
  device().run(primitives::attention{p.shape(), 2500.0F, out.get(), max.get(), sum.get(), q.get(), k.get(), v.get()});
  vec const values = v.host();
  vec expected(700);
  each_query(p, q.host(), k.host(), [&](index, index, index i, vec const& weight) {
    for (std::size_t j = 0; j < weight.size(); ++j) expected[static_cast<std::size_t>(i)] += weight[j] * values[j];
  });
  check_close(out.host(), expected, 1e-3);
}

}  // namespace kernels
