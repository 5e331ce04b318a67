#pragma once
// Attention on the host: which blocks of scores meet, and what is done to a row of one, from products to weights and
// from the weights' gradient to the products'.
#include <algorithm>

#include <mtf/core/element.hpp>
#include <mtf/kokkos/attention/places.hpp>
#include <mtf/kokkos/gemm/block_product.hpp>
#include <mtf/kokkos/kernels/random.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>
#include <mtf/math/fast_math.hpp>

namespace mtf::kokkos {

template <class T>
struct attention_blocks {
  using A = compute_t<T>;
  attention_shape what;
  nest<9> batch;
  A scale;
  index workers;
  T const* bias;
  static constexpr index rows = 64, most_columns = 256;  // of a block of scores
  index columns;
  index pitch;  // from row to row, a vector more than needed: at powers of two rows would share a few sets of the cache
  bool more;    // than a factor is done to scores and weights

  // What the sequence has that is worked on.
  index present;  // of the keys those that there are
  T const* its_bias = nullptr;
  std::int32_t const *its_query_ids = nullptr, *its_key_ids = nullptr;
  index its_weights = 0;

  attention_blocks(attention_shape const& shape, A by, index worker_count, T const* b)
      : what(shape),
        batch(attention_nest(shape.batch)),
        scale(by),
        workers(worker_count),
        bias(b),
        more(shape.has_more()),
        present(shape.keys) {
    set_columns(std::min<index>(most_columns, shape.keys));
  }
  void set_columns(index n) {
    columns = n;
    pitch = round_up(n, panels<A>::width) + vector_lanes<A>;
  }

  void begin(attention_places const& at) {
    present = what.lengths == nullptr ? what.keys : std::clamp<index>(what.lengths[at[of_sequence]], 0, what.keys);
    if (what.biased) its_bias = bias + at[of_bias];
    if (what.query_ids != nullptr) {
      its_query_ids = what.query_ids + at[of_query_ids];
      its_key_ids = what.key_ids + at[of_key_ids];
    }
    its_weights = what.first_weight + at[of_weights];
  }
  /// Of the n keys from j0 on what query i sees: those in [begin, end), but for those in [gap, gap_end).
  struct seen_keys {
    index begin = 0, gap = 0, gap_end = 0, end = 0;
  };
  [[nodiscard]] seen_keys seen_of(index i, index j0, index n) const {
    auto const here = [=](index j) { return std::clamp(j - j0, index{0}, n); };
    if (!what.seen.forgets()) {
      index const end = here(what.seen.end_of_keys(i, present));
      return {0, end, end, end};
    }
    auto const all = what.seen.keys(i, present);
    index const prefix = here(all.prefix), first = here(all.first), last = here(all.last);
    if (prefix == 0) return first < last ? seen_keys{first, last, last, last} : seen_keys{};
    if (first == last) return {0, prefix, prefix, prefix};
    return {0, prefix, first, last};
  }
  /// Of the n keys from j0 on those between the first and the last that queries [i, end) see.
  [[nodiscard]] term_range keys_of(index i, index end, index j0, index n) const {
    auto const here = [=](index j) { return std::clamp(j - j0, index{0}, n); };
    return {here(what.seen.first_key(i, present)), here(last_key(end))};
  }
  /// The one after the last key that the queries before `end` see.
  [[nodiscard]] index last_key(index end) const { return what.seen.end_of_keys(end - 1, present); }
  /// Whether some query in [i, i + m) sees some of the n keys from j on.
  [[nodiscard]] bool meet(index i, index m, index j, index n) const {
    return n > 0 && what.seen.sees_some(i, i + m, j, j + n) && (its_query_ids == nullptr || ids_meet(i, m, j, n));
  }
  /// Whether query i sees a key of its own id.
  [[nodiscard]] bool finds_its_id(index i) const {
    auto const seen = what.seen.keys(i, present);
    auto const id = its_query_ids[i * what.query_ids_step];
    bool found = false;
    each_run(seen, [&](index first, index count) {
      for (index j = first; j < first + count; ++j) found = found || its_key_ids[j * what.key_ids_step] == id;
    });
    return found;
  }
  /// The terms of a block's scores: all, or none where the tile of rows [i, i + m) and columns from j on is hidden.
  [[nodiscard]] term_range score_terms(index i, index m, index j, index all) const {
    return {0, what.seen.sees_some(i, i + m, j, j + panels<A>::width) ? all : 0};
  }
  /// Of m queries from i0 on those between the first and the last that see some of the n keys from j on.
  [[nodiscard]] term_range queries_of(index j, index n, index i0, index m) const {
    auto const here = [=](index i) { return std::clamp(i - i0, index{0}, m); };
    index const end = what.seen.forgets() ? here(what.seen.end_of_queries(j, j + n, what.queries)) : m;
    return {here(what.seen.first_query(j, what.queries)), end};
  }

  static void store_row(T* to, A const* from, index n, A factor) {
    MTF_SIMD
    for (index h = 0; h < n; ++h) to[h] = convert<T>(factor * from[h]);
  }

  /// A query, and the first key of the block that its row of scores is of.
  struct row_of_block {
    index query, key;
  };

  /// Turns n products of a query with keys, of which it sees `seen`, into weights relative to the largest score so far;
  /// rescales `o`, the sum with the earlier weights. The exponents are computed as in differentiate(), where the scaled
  /// products are terms of fused multiply-adds: of rounded ones large weights would be others there.
  void weigh(A* s, row_of_block at, seen_keys const& seen, index n, A& max, A& sum, A* o) const {
    host_team const team;
    vectors const v(seen);
    if (scale == A(0)) std::fill(s + v.begin, s + seen.end, A(0));
    if (more) {
      alignas(vector_bytes) A slope[most_columns];
      score(s, at, seen.begin, seen.end, slope);
    }
    A const by = more || scale == A(0) ? A(1) : scale;
    A* const x = s + v.begin;
    fill_hidden(s, seen, v, s[seen.begin]);  // is no larger than the largest
    A const largest =
        max_op::of(max, team.template max<A>(v.end - v.begin, [=](index j) MTF_INLINE_LAMBDA { return by * x[j]; }));
    fill_hidden(s, seen, v, by > A(0) ? max_op::neutral<A>() : -max_op::neutral<A>());
    A const shift = shift_of(largest);
    A const added = team.template sum<A>(
        v.end - v.begin, [=](index j) MTF_INLINE_LAMBDA { return x[j] = fast_exp_down(by * x[j] - shift); });
    fill(s, 0, v.begin, A(0));
    fill(s, v.end, n, A(0));
    if (o != nullptr) {
      A const kept = fast_exp_down(max - shift);
      team.each(what.values, [=](index h) MTF_INLINE_LAMBDA { o[h] *= kept; });
      sum *= kept;
    }
    max = largest;
    sum += added;
    if (what.dropped != 0) {
      alignas(vector_bytes) A factor[most_columns];
      dropout_factors(at, seen.begin, seen.end, factor);
      multiply(s + seen.begin, factor, seen.end - seen.begin);
    }
  }
  /// s: a query's products with n keys to weights; ds: the weights' gradient to the products'. `max` and `sum` are what
  /// weigh() left, `dot` the sum of each weight times its gradient.
  void differentiate(A* s, A* ds, row_of_block at, seen_keys const& seen, index n, A max, A sum, A dot) const {
    if (more) {
      alignas(vector_bytes) A slope[most_columns];
      differentiate_scores(s, ds, at, seen, n, max, sum, dot, slope);
      multiply(ds + seen.begin, slope, seen.end - seen.begin);
      return;
    }
    A const factor = scale, shift = shift_of(max), share = A(1) / sum, rest = factor * dot;
    vectors const v(seen);
    A *const x = s + v.begin, *const dx = ds + v.begin;
    host_team{}.each(v.end - v.begin, [=](index j) MTF_INLINE_LAMBDA {
      A const p = share * fast_exp_down(factor * x[j] - shift);
      x[j] = p;
      dx[j] = p * (factor * dx[j] - rest);
    });
    clear_hidden(s, ds, seen, n);
  }
  /// The same, but ds becomes the gradient of the scores, and slope[j] what one of a product is multiplied by, of the
  /// keys from seen.begin on.
  void differentiate_scores(A* s, A* ds, row_of_block at, seen_keys const& seen, index n, A max, A sum, A dot,
                            A* slope) const {
    if (its_query_ids != nullptr && sum == A(0) && !finds_its_id(at.query)) {
      std::fill_n(s, n, A(0));
      std::fill_n(ds, n, A(0));
      std::fill_n(slope, seen.end - seen.begin, A(0));
      return;
    }
    if (scale == A(0)) std::fill(s + seen.begin, s + seen.end, A(0));
    score(s, at, seen.begin, seen.end, slope);
    A const shift = shift_of(max), share = A(1) / sum;
    A *const x = s + seen.begin, *const dx = ds + seen.begin;
    index const count = seen.end - seen.begin;
    host_team const team;
    alignas(vector_bytes) A kept[most_columns];
    A* const factor = kept;
    if (what.dropped != 0) {
      dropout_factors(at, seen.begin, seen.end, factor);
      multiply(dx, factor, count);
    }
    team.each(count, [=](index j) MTF_INLINE_LAMBDA {
      A const p = share * fast_exp_down(x[j] - shift);
      x[j] = p;
      dx[j] = p * (dx[j] - dot);
    });
    if (what.dropped != 0) multiply(x, factor, count);
    clear_hidden(s, ds, seen, n);
  }

 private:
  static void multiply(A* x, A const* by, index n) {
    host_team{}.each(n, [=](index j) MTF_INLINE_LAMBDA { x[j] *= by[j]; });
  }
  /// Products to scores, and their derivatives. Forward and backward must have the same bits: the function is one, and
  /// what it adds is rounded in memory before.
  [[gnu::noinline]] void score(A* s, row_of_block at, index begin, index end, A* slope) const {
    host_team const team;
    index const n = end - begin;
    A* const x = s + begin;
    A const factor = scale;
    if (what.soft_cap != 0) {
      A const cap = static_cast<A>(what.soft_cap), by = factor / cap;
      team.each(n, [=](index j) MTF_INLINE_LAMBDA {
        A const t = fast_tanh(by * x[j]);
        slope[j] = factor * (A(1) - t * t);
        x[j] = cap * t;
      });
    } else {
      team.each(n, [=](index j) MTF_INLINE_LAMBDA {
        slope[j] = factor;
        x[j] *= factor;
      });
    }
    if (what.biased) {
      index const step = what.bias_key;
      T const* const b = its_bias + at.query * what.bias_query + (at.key + begin) * step;
      if (step == 1)
        team.each(n, [=](index j) MTF_INLINE_LAMBDA { x[j] += load(b[j]); });
      else
        for (index j = 0; j < n; ++j) x[j] += load(b[j * step]);
    }
    if (its_query_ids != nullptr) {
      std::int32_t const id = its_query_ids[at.query * what.query_ids_step];
      index const step = what.key_ids_step;
      std::int32_t const* const ids = its_key_ids + (at.key + begin) * step;
      for (index j = 0; j < n; ++j) x[j] = ids[j * step] == id ? x[j] : max_op::neutral<A>();
    }
  }
  /// By what dropout multiplies the weights of keys [begin, end) of a row.
  void dropout_factors(row_of_block at, index begin, index end, A* factor) const {
    constexpr index neighbours = 8, batch_of_halves = neighbours * philox_batch;
    alignas(64) std::uint16_t half[batch_of_halves];
    dropout_rate const rate(what.dropped);
    auto const kept = static_cast<A>(rate.factor);
    index const first = its_weights + at.query * what.weights_row + at.key + begin, n = end - begin;
    for (index j = 0; j < n;) {
      index const within = (first + j) % neighbours, m = std::min(n - j, batch_of_halves - within);
      dropout_halves(what.drop_key, (first + j) / neighbours, half);
      for (index e = 0; e < m; ++e) factor[j + e] = half[within + e] >= rate.threshold ? kept : A(0);
      j += m;
    }
  }
  /// Whether some of m queries and n keys may have one id: their ranges overlap.
  [[nodiscard]] bool ids_meet(index i, index m, index j, index n) const {
    struct range {
      std::int32_t least, most;
      range(std::int32_t const* ids, index step, index count) : least(ids[0]), most(ids[0]) {
        for (index e = 1; e < count; ++e) {
          least = std::min(least, ids[e * step]);
          most = std::max(most, ids[e * step]);
        }
      }
    };
    m = std::min(m, what.queries - i);
    n = std::min(n, what.keys - j);
    range const a(its_query_ids + i * what.query_ids_step, what.query_ids_step, m),
        b(its_key_ids + j * what.key_ids_step, what.key_ids_step, n);
    return a.least <= b.most && b.least <= a.most;
  }
  static void clear_hidden(A* s, A* ds, seen_keys const& seen, index n) {
    for (A* const row : {s, ds}) {
      fill(row, 0, seen.begin, A(0));
      fill(row, seen.gap, seen.gap_end, A(0));
      fill(row, seen.end, n, A(0));
    }
  }
  /// Whole vectors that have what is seen.
  struct vectors {
    index begin, end;
    explicit vectors(seen_keys const& seen)
        : begin(seen.begin / vector_lanes<A> * vector_lanes<A>), end(round_up(seen.end, vector_lanes<A>)) {}
  };
  static void fill(A* s, index begin, index end, A value) {
    if (begin < end) std::fill(s + begin, s + end, value);
  }
  static void fill_hidden(A* s, seen_keys const& seen, vectors const& v, A value) {
    fill(s, v.begin, seen.begin, value);
    fill(s, seen.gap, seen.gap_end, value);
    fill(s, seen.end, v.end, value);
  }
};

}  // namespace mtf::kokkos
