#pragma once
// Attention of bfloat16 on hosts that multiply it faster than float (pair_product.hpp). All factors are
// bfloat16: weights, and gradients of scores, are rounded for their products, after their sums were taken in float.
// Gradients of keys and values are computed as their transposes, so that no block of scores is transposed.
#include <mtf/kokkos/attention/tasks.hpp>
#include <mtf/kokkos/gemm/pair_product.hpp>

#if MTF_PAIR_PRODUCTS
namespace mtf::kokkos {

/// Tasks, attention_forward or attention_backward, and the products of their blocks.
template <class Tasks>
struct attention_in_pairs : Tasks {
  using T = bfloat16;
  pair_unit unit;

  template <class... Arguments>
  explicit attention_in_pairs(pair_unit by, Arguments... as_of_tasks) : Tasks(as_of_tasks...), unit(by) {}

  /// From row to row of weights, or of their gradients, in pairs.
  [[nodiscard]] index pair_pitch() const { return pairs_of(this->columns) + tile_pairs; }

  /// s[i, j] = a[i] b[j] where query i0 + i sees key j0 + j, and somewhat beyond.
  void scores(pair_multiplier const& by, index m, index wide, index i0, index j0, strided_rows<float const> a,
              panels<float> b, float* s, coming_rows<T>& coming) const {
    by.multiply(m, wide, a, b, {s, this->pitch}, false, [&](index i, index r, index j) {
      coming.ask_for_some();
      return this->score_terms(i0 + i, r, j0 + j, b.rows);
    });
  }
  /// c[i] (+)= the sum of s[i, j] b[j] over what query i0 + i sees of the n keys from j0 on.
  void weighted(pair_multiplier const& by, index m, index n, index i0, index j0, strided_rows<float> s, panels<float> b,
                index width, strided_rows<float> c, bool accumulate, coming_rows<T>& coming) const {
    by.multiply(m, width, {s.at, s.stride}, b, c, accumulate, [&](index i, index r, index) {
      coming.ask_for_some();
      auto const keys = this->keys_of(i0 + i, i0 + i + r, j0, n);
      return term_range{keys.begin / 2, ceil_div(keys.end, 2)};
    });
  }
};

struct attention_forward_in_pairs : attention_in_pairs<attention_forward<bfloat16>> {
  using attention_in_pairs<attention_forward<bfloat16>>::attention_in_pairs;

  struct memory {
    float *s, *weights, *o, *max, *sum, *q, *k, *keys, *values;
  };
  [[nodiscard]] memory from(scratch_memory& m) const {
    auto const r = task_rows, c = columns, h = what.head;
    return {m.take<float>(rows * pitch),
            m.take<float>(rows * pair_pitch()),
            m.take<float>(r * what.values),
            m.take<float>(r),
            m.take<float>(r),
            m.take<float>(r * pairs_of(h)),
            m.take<float>(c * pairs_of(h)),
            m.take<float>(panels<float>::size(pairs_of(h), c)),
            m.take<float>(panels<float>::size(pairs_of(c), what.values))};
  }

  void operator()(index task, memory const& mine) {
    auto const& w = what;
    pair_multiplier const by(unit);
    index const first = first_row(task), end = std::min(first + task_rows, w.queries), terms = pairs_of(w.head);
    attention_places at;
    batch.locate(task / blocks(), at);
    begin(at);
    auto coming = after(task, at[of_out] + first * w.out_row, end - first);
    auto const query = pair_rows({q + at[0] + first * w.q_row, w.q_row}, end - first, w.head, mine.q);
    strided_rows<float> const o{mine.o, w.values};
    strided_rows<float> const weights{mine.weights, pair_pitch()};
    row_sums sums(*this, end - first, o, mine.max, mine.sum);
    index const last = last_key(end);
    for (index j0 = first_block(first, end); j0 < last; j0 += columns) {
      index const width = std::min(columns, last - j0);
      if (!meet(first, end - first, j0, width)) continue;
      panels<float> const keys{mine.keys, terms}, values{mine.values, pairs_of(width)};
      keys.pack_transposed(pair_rows({k + at[1] + j0 * w.k_row, w.k_row}, width, w.head, mine.k), width);
      pack_row_pairs(values, {v + at[2] + j0 * w.v_row, w.v_row}, width, w.values);
      for (index i0 = first; i0 < end; i0 += rows) {
        index const m = std::min(rows, end - i0), n = std::min(width, last_key(i0 + m) - j0);
        if (!meet(i0, m, j0, n)) continue;
        index const r0 = i0 - first, wide = round_up(n, tile_block);
        bool const accumulate = sums.accumulates(r0, i0, m, j0, n);
        scores(by, m, wide, i0, j0, {query[r0], query.stride}, keys, mine.s, coming);
        for (index r = 0; r < m; ++r) {
          float* const s = mine.s + r * pitch;
          weigh(s, {i0 + r, j0}, seen_of(i0 + r, j0, n), wide, mine.max[r0 + r], mine.sum[r0 + r],
                accumulate ? o[r0 + r] : nullptr);
          round_to_pairs(weights[r], s, wide);
        }
        weighted(by, m, n, i0, j0, weights, values, w.values, {o[r0], w.values}, accumulate, coming);
      }
    }
    finish(task, at[of_out], end - first, sums);
  }
};

struct attention_backward_in_pairs : attention_in_pairs<attention_backward<bfloat16>> {
  using attention_in_pairs<attention_backward<bfloat16>>::attention_in_pairs;

  struct memory {
    float *s, *ds, *ds_rows, *weights, *gradients, *dk, *dv, *q, *g, *q_columns, *g_columns, *k, *keys, *key_rows,
        *values, *lines;
  };
  [[nodiscard]] memory from(scratch_memory& m) const {
    auto const c = columns, h = what.head, w = what.values, of_head = pairs_of(h), of_values = pairs_of(w),
               h_rows = round_up(h, tile_block), w_rows = round_up(w, tile_block);
    return {m.take<float>(rows * pitch),
            m.take<float>(rows * pitch),
            m.take<float>(rows * pair_pitch()),
            m.take<float>(panels<float>::size(pairs_of(rows), c)),
            m.take<float>(panels<float>::size(pairs_of(rows), c)),
            m.take<float>(h * pitch),
            m.take<float>(w * pitch),
            m.take<float>(rows * of_head),
            m.take<float>(rows * of_values),
            m.take<float>(h_rows * pairs_of(rows)),
            m.take<float>(w_rows * pairs_of(rows)),
            m.take<float>(c * std::max(of_head, of_values)),
            m.take<float>(panels<float>::size(of_head, c)),
            m.take<float>(panels<float>::size(pairs_of(c), h)),
            m.take<float>(panels<float>::size(of_values, c)),
            m.take<float>(8 * std::max(h, w))};
  }

  void operator()(index task, memory const& mine) {
    pair_multiplier const by(unit);
    for_blocks(task, [&](index j0, index of, coming_rows<T>& coming) { keys(of, j0, by, mine, coming); });
  }

 private:
  /// What one block of keys contributes to all gradients.
  void keys(index task, index j0, pair_multiplier const& by, memory const& mine, coming_rows<T>& coming) {
    auto const& w = what;
    index const width = std::min(columns, w.keys - j0);
    attention_places shared;
    apart.locate(task / parts, shared);
    strided_rows<T const> const key{k + shared[of_k] + j0 * w.k_row, w.k_row},
        value{v + shared[of_v] + j0 * w.v_row, w.v_row};
    panels<float> const key_panels{mine.keys, pairs_of(w.head)}, value_panels{mine.values, pairs_of(w.values)},
        key_rows{mine.key_rows, pairs_of(width)};
    key_panels.pack_transposed(pair_rows(key, width, w.head, mine.k), width);
    value_panels.pack_transposed(pair_rows(value, width, w.values, mine.k), width);
    pack_row_pairs(key_rows, key, width, w.head);
    std::fill_n(mine.dk, w.head * pitch, 0.0F);
    std::fill_n(mine.dv, w.values * pitch, 0.0F);
    for_queries(task, j0, width, [&](sequence const& of, bool accumulate, index i0, index m, index n) {
      index const wide = round_up(n, tile_block);
      index const of_query = of.at[of_q] + i0 * w.q_row, of_result = of.at[of_out] + i0 * w.out_row;
      strided_rows<T const> const o{out + of_result, w.out_row}, query{q + of_query, w.q_row},
          g{dout + of_result, w.out_row};
      scores(by, m, wide, i0, j0, pair_rows(query, m, w.head, mine.q), key_panels, mine.s, coming);
      scores(by, m, wide, i0, j0, pair_rows(g, m, w.values, mine.g), value_panels, mine.ds, coming);
      panels<float> const weights{mine.weights, pairs_of(m)}, gradients{mine.gradients, pairs_of(m)};
      strided_rows<float> const gradient_rows{mine.ds_rows, pair_pitch()};
      for (index r = 0; r < 2 * weights.rows; ++r) {
        float *const s = mine.s + r * pitch, *const ds = mine.ds + r * pitch;
        if (r < m) {
          index const row = of.at[of_sequence] * w.queries + i0 + r;
          differentiate(s, ds, {i0 + r, j0}, seen_of(i0 + r, j0, n), wide, max_of_rows[row], sum_of_rows[row],
                        dot(row, g[r], o[r]));
          round_to_pairs(gradient_rows[r], ds, wide);
        } else {
          std::fill_n(s, wide, 0.0F);
          std::fill_n(ds, wide, 0.0F);
        }
        if (r % 2 == 0) continue;
        round_to_row_pairs(weights, r / 2, s - pitch, s, wide);
        round_to_row_pairs(gradients, r / 2, ds - pitch, ds, wide);
      }
      auto const sees = [&](index, index, index j) {
        coming.ask_for_some();
        auto const queries = this->queries_of(j0 + j, panels<float>::width, i0, m);
        return term_range{queries.begin / 2, queries.end < m ? ceil_div(queries.end, 2) : weights.rows};
      };
      by.multiply(w.values, wide, transpose_to_pairs(g, m, w.values, mine.g_columns), weights, {mine.dv, pitch}, true,
                  sees);
      by.multiply(w.head, wide, transpose_to_pairs(query, m, w.head, mine.q_columns), gradients, {mine.dk, pitch}, true,
                  sees);
      weighted(by, m, n, i0, j0, gradient_rows, key_rows, w.head, {of.to[i0], of.to.stride}, accumulate, coming);
    });
    store_transposed(dk + shared[of_k] + j0 * w.k_row, w.k_row, mine.dk, width, w.head, mine.lines);
    store_transposed(dv + shared[of_v] + j0 * w.v_row, w.v_row, mine.dv, width, w.values, mine.lines);
  }
  /// Row j of `to` = column j of `sums`.
  void store_transposed(T* to, index stride, float const* sums, index count, index head, float* lines) const {
    index const blocks = head / 8 * 8;
    for (index j = 0; j < count; j += 8) {  // there are columns to a multiple of 8, and more
      for (index h = 0; h < blocks; h += 8) transpose_block(lines + h, head, sums + h * pitch + j, pitch);
      for (index c = 0; c < std::min<index>(8, count - j); ++c) {
        for (index h = blocks; h < head; ++h) lines[c * head + h] = sums[h * pitch + j + c];
        store_row(to + (j + c) * stride, lines + c * head, head, 1.0F);
      }
    }
  }
};

}  // namespace mtf::kokkos
#endif
