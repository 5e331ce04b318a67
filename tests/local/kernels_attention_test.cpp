// Attention and its gradients against plain loops in double: in blocks, ragged ones, and in several orders of
// dimensions.
#include "attention_problem.hpp"

namespace kernels {

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

TEST_CASE_TEMPLATE("attention with more than products", T, float, double, bfloat16) {
  extents const shapes[] = {{2, 3, 70, 70, 5}, {1, 2, 300, 300, 4}, {2, 1, 40, 600, 3}, {1, 2, 130, 33, 16}};
  for (auto const& e : shapes)
    for (auto const& seen : {visible::everything(), visible::causal(), visible::window(50, 9) | visible::prefix(3)}) {
      auto const o = [&](index length) { return order_of(kind::batch_sequence_heads, e, length); };
      problem const plain{e, o(e.queries), o(e.keys), o(e.keys), 0.5 / std::sqrt(static_cast<double>(e.head)), seen};
      problem capped = plain;
      capped.soft_cap = 0.5;
      check<T>(capped);

      problem::strides const all{e.heads * e.queries * e.keys, e.queries * e.keys, e.keys, 1},
          heads{0, e.queries * e.keys, e.keys, 1}, of_keys{e.keys, 0, 0, 1}, turned{0, 1, 0, e.heads},
          of_queries{1, 0, e.batch, 0}, one{};
      for (auto const& strides : {all, heads, of_keys, turned, of_queries, one}) {
        problem biased = plain;
        biased.bias = strides;
        biased.bias_count = static_cast<index>(biased.bias_at(e.batch - 1, e.heads - 1, e.queries - 1, e.keys - 1)) + 1;
        check<T>(biased);
      }

      problem packed = plain;
      for (index b = 0; b < e.batch; ++b)
        for (index i = 0; i < e.queries; ++i)  // some queries are of an id that no key has
          packed.query_ids.push_back(static_cast<double>(i < 7 ? 9 : i * 4 / e.queries + b));
      for (index j = 0; j < e.keys; ++j)
        for (index b = 0; b < e.batch; ++b) packed.key_ids.push_back(static_cast<double>(j * 3 / e.keys + b));
      check<T>(packed);

      problem dropped = plain;
      dropped.dropped = 0.3;
      check<T>(dropped);
      problem none = plain;
      none.dropped = 1;
      check<T>(none);

      problem everything = packed;
      everything.soft_cap = 1.5;
      everything.dropped = 0.5;
      everything.bias = heads;
      everything.bias_count = e.heads * e.queries * e.keys;
      everything.lengths = vec(size(e.batch * e.heads), static_cast<double>(e.keys - 2));
      check<T>(everything);
      everything.scale = 0;
      check<T>(everything);
    }
}

TEST_CASE_TEMPLATE("attention to shared keys, and to values of another width", T, float, double, bfloat16) {
  extents const shapes[] = {{2, 3, 70, 70, 5}, {1, 4, 140, 140, 4}, {3, 2, 40, 300, 16}, {1, 5, 130, 33, 8}};
  for (auto const& e : shapes)
    for (bool const shared : {false, true})
      for (index const values : {e.head, index{1}, e.head + 3, index{24}}) {
        extents of_keys = e, of_results = e;
        if (shared) of_keys.heads = 1;
        extents of_values = of_keys;
        of_values.head = of_results.head = values;
        auto const o = [&](extents const& x, index length) {
          order at = order_of(kind::batch_sequence_heads, x, length);
          if (x.heads != e.heads) at.heads = 0;
          return at;
        };
        for (auto const& seen : {visible::causal(), visible::window(50, 9)}) {
          problem p{e,
                    o(e, e.queries),
                    o(of_keys, e.keys),
                    o(of_values, e.keys),
                    0.5 / std::sqrt(static_cast<double>(e.head)),
                    seen};
          p.values = values;
          p.out = o(of_results, e.queries);
          check<T>(p);
          for (index s = 0; s < e.batch * e.heads; ++s) p.lengths.push_back(static_cast<double>(s * e.keys / 4));
          check<T>(p);
        }
      }
}

TEST_CASE("attention of scores with a common offset") {
  // Of the scores only differences count: of numbers of some 2^20 these are exact to an eighth.
  for (double const offset : {1048576.0, -1048576.0, 4194304.0}) {
    extents const e{1, 1, 200, 300, 2};
    order const queries = order_of(kind::batch_sequence_heads, e, e.queries),
                keys = order_of(kind::batch_sequence_heads, e, e.keys);
    auto const results = [&](double by) {
      problem const p{e, queries, keys, keys, 1};
      vec hq, hk;
      for (index i = 0; i < e.queries; ++i) hq.insert(hq.end(), {1024.0, static_cast<double>(i % 3) - 1});
      for (index j = 0; j < e.keys; ++j) hk.insert(hk.end(), {by / 1024.0, static_cast<double>(j % 5) - 2});
      array<float> q(hq), k(hk), v(numbers(p.key_count(), 3)), g(numbers(p.query_count(), 4)), out(p.query_count()),
          dq(p.query_count()), dk(p.key_count()), dv(p.key_count()), max(e.queries), sum(e.queries);
      device().run(primitives::attention{p.shape(), 1.0F, out.get(), max.get(), sum.get(), q.get(), k.get(), v.get()});
      device().run(primitives::attention_vjp{p.shape(), 1.0F, dq.get(), dk.get(), dv.get(), q.get(), k.get(), v.get(),
                                             out.get(), max.get(), sum.get(), g.get()});
      vec second;  // of dq: the first is the sum of the offsets times gradients that sum to 0
      for (std::size_t i = 1; i < hq.size(); i += 2) second.push_back(dq.host()[i]);
      return std::array{out.host(), second, dk.host(), dv.host()};
    };
    auto const want = results(0), got = results(offset);
    for (std::size_t i = 0; i < want.size(); ++i) check_close(got[i], want[i], tolerance<float>);
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

/// What two parts of a row of keys give, by what is kept of each.
TEST_CASE_TEMPLATE("attention to some keys and to the others is attention to all", T, float, double, bfloat16) {
  using A = compute_t<T>;
  extents const e{1, 2, 300, 300, 8};
  order const o = order_of(kind::batch_sequence_heads, e, 300);
  index const rows = e.heads * e.queries, first = 130;
  for (auto const& seen : {visible::everything(), visible::causal(), visible::window(20, -5)}) {
    CAPTURE(to_string(seen));
    problem const p{e, o, o, o, 0.25, seen};
    array<T> q(numbers(p.query_count(), 1)), k(numbers(p.key_count(), 2)), v(numbers(p.key_count(), 3)),
        g(numbers(p.query_count(), 4)), out(p.query_count()), dq(p.query_count()), dk(p.key_count()), dv(p.key_count());
    array<A> max(rows), sum(rows);
    auto const run = [&](attention_shape const& s, index from, array<T>& to, array<A>& largest, array<A>& total) {
      device().run(primitives::attention<T>{s, A(0.25), to.get(), largest.get(), total.get(), q.get(),
                                            k.get() + from * o.row, v.get() + from * o.row, nullptr, true});
    };
    run(p.shape(), 0, out, max, sum);
    vec const whole = out.host(), of_max = max.host(), of_sum = sum.host(), gradient = g.host();
    vec dots(of_sum.size());
    for (index h = 0; h < e.heads; ++h)
      for (index i = 0; i < e.queries; ++i)
        for (std::size_t d = 0; d < 8; ++d)
          dots[size(h * e.queries + i)] += whole[at(o, 0, h, i) + d] * gradient[at(o, 0, h, i) + d];
    array<A> const dot(dots);
    device().run(primitives::attention_vjp<T>{p.shape(), A(0.25), dq.get(), dk.get(), dv.get(), q.get(), k.get(),
                                              v.get(), out.get(), max.get(), sum.get(), g.get()});
    vec const all_dq = dq.host(), all_dk = dk.host(), all_dv = dv.host();

    vec merged(whole.size()), sum_of_dq(whole.size());
    array<T> part(p.query_count()), some_dk(p.key_count()), some_dv(p.key_count());
    array<A> part_max(rows), part_sum(rows);
    for (index const from : {index{0}, first}) {
      auto s = p.shape();
      s.keys = from == 0 ? first : 300 - first;
      s.seen = seen.on_shard(0, from);
      run(s, from, part, part_max, part_sum);
      vec const found = part.host(), its_max = part_max.host(), its_sum = part_sum.host();
      for (index h = 0; h < e.heads; ++h)
        for (index i = 0; i < e.queries; ++i) {
          auto const row = size(h * e.queries + i);
          if (its_sum[row] == 0) continue;
          double const share = its_sum[row] * std::exp(its_max[row] - of_max[row]) / of_sum[row];
          for (std::size_t d = 0; d < 8; ++d) merged[at(o, 0, h, i) + d] += share * found[at(o, 0, h, i) + d];
        }
      device().run(primitives::attention_vjp<T>{s, A(0.25), part.get(), some_dk.get() + from * o.row,
                                                some_dv.get() + from * o.row, q.get(), k.get() + from * o.row,
                                                v.get() + from * o.row, out.get(), max.get(), sum.get(), g.get(),
                                                nullptr, dot.get()});
      vec const of_part = part.host();
      for (std::size_t i = 0; i < of_part.size(); ++i) sum_of_dq[i] += of_part[i];
    }
    check_close(merged, whole, 4 * tolerance<T>);
    check_close(sum_of_dq, all_dq, 8 * tolerance<T>);
    check_close(some_dk.host(), all_dk, 8 * tolerance<T>);
    check_close(some_dv.host(), all_dv, 8 * tolerance<T>);
  }
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
  each_query(p, q.host(), k.host(), {}, [&](index, index, index i, vec const& weight, vec const&) {
    for (std::size_t j = 0; j < weight.size(); ++j) expected[static_cast<std::size_t>(i)] += weight[j] * values[j];
  });
  check_close(out.host(), expected, 1e-3);
}

}  // namespace kernels
