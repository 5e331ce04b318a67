#pragma once
// Attention on the host with products in the type that is computed in: of float, double, and of bfloat16 where
// it has no products of its own (pairs.hpp).
#include <mtf/kokkos/attention/tasks.hpp>

namespace mtf::kokkos {

/// The blocks' products.
template <class Number>
struct attention_products_of {
  using T = Number;
  using A = compute_t<T>;
  attention_blocks<T> const& of;

  /// A dense copy of rows that are read often: at powers of two apart they would displace each other from the caches.
  [[nodiscard]] strided_rows<A const> copy_rows(strided_rows<T const> x, index n, index head, A* copy) const {
    for (index r = 0; r < n; ++r) {
      MTF_SIMD
      for (index h = 0; h < head; ++h) copy[r * head + h] = load(x[r][h]);
    }
    return {copy, head};
  }
  /// The rows themselves where T is computed in T, else a copy.
  [[nodiscard]] strided_rows<A const> load_rows(strided_rows<T const> x, index n, index head, A* copy) const {
    if constexpr (std::is_same_v<T, A>)
      return x;
    else
      return copy_rows(x, n, head, copy);
  }
  [[nodiscard]] static index copied(index n) { return std::is_same_v<T, A> ? 0 : n; }

  /// s[i, j] = a[i] b[j] where query i0 + i sees key j0 + j, and somewhat beyond.
  void scores(index m, index n, index i0, index j0, strided_rows<A const> a, panels<A> b, A* s,
              coming_rows<T>& coming) const {
    multiply_block(m, round_up(n, panels<A>::width), {a.at, a.stride, 1}, b, {s, of.pitch}, false,
                   [&](index i, index r, index j) {
                     coming.ask_for_some();
                     return of.score_terms(i0 + i, r, j0 + j, b.rows);
                   });
  }
  /// c[i] (+)= the sum of s[i, j] b[j] over what query i0 + i sees of the n keys from j0 on.
  void weighted(index m, index n, index i0, index j0, A const* s, panels<A> b, index wide, strided_rows<A> c,
                bool accumulate, coming_rows<T>& coming) const {
    multiply_block(m, wide, {s, of.pitch, 1}, b, c, accumulate, [&](index i, index r, index) {
      coming.ask_for_some();
      return of.keys_of(i0 + i, i0 + i + r, j0, n);
    });
  }
  /// c[j] += the sum of s[i, j] b[i] over those of the m queries from i0 on that see key j0 + j.
  void transposed_weighted(index m, index n, index i0, index j0, A const* s, panels<A> b, index wide, strided_rows<A> c,
                           coming_rows<T>& coming) const {
    multiply_block(n, wide, {s, 1, of.pitch}, b, c, true, [&](index j, index r, index) {
      coming.ask_for_some();
      return of.queries_of(j0 + j, r, i0, m);
    });
  }
};

template <class Number>
struct attention_forward_in_blocks : attention_forward<Number> {
  using T = Number;
  using A = compute_t<T>;
  using attention_forward<T>::attention_forward;

  struct memory {
    A *s, *o, *max, *sum, *q, *k, *keys, *values;
  };
  [[nodiscard]] memory from(scratch_memory& m) const {
    auto const r = this->task_rows, c = this->columns, h = this->what.head, w = this->what.values;
    return {m.take<A>(this->rows * this->pitch),
            m.take<A>(r * w),
            m.take<A>(r),
            m.take<A>(r),
            m.take<A>(r * h),
            m.take<A>(attention_products_of<T>::copied(c * h)),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(c, w))};
  }

  void operator()(index task, memory const& mine) {
    auto const& w = this->what;
    attention_products_of<T> const products{*this};
    index const first = this->first_row(task), end = std::min(first + this->task_rows, w.queries);
    attention_places at;
    this->batch.locate(task / this->blocks(), at);
    this->begin(at);
    auto coming = this->after(task, at[of_out] + first * w.out_row, end - first);
    auto const query = products.copy_rows({this->q + at[0] + first * w.q_row, w.q_row}, end - first, w.head, mine.q);
    strided_rows<A> const o{mine.o, w.values};
    typename attention_forward<T>::row_sums sums(*this, end - first, o, mine.max, mine.sum);
    index const last = this->last_key(end);
    for (index j0 = this->first_block(first, end); j0 < last; j0 += this->columns) {
      index const width = std::min(this->columns, last - j0);
      if (!this->meet(first, end - first, j0, width)) continue;
      panels<A> const keys{mine.keys, w.head}, values{mine.values, width};
      keys.pack_transposed(products.load_rows({this->k + at[1] + j0 * w.k_row, w.k_row}, width, w.head, mine.k), width);
      values.pack(strided_rows<T const>{this->v + at[2] + j0 * w.v_row, w.v_row}, w.values);
      for (index i0 = first; i0 < end; i0 += this->rows) {
        index const m = std::min(this->rows, end - i0), n = std::min(width, this->last_key(i0 + m) - j0);
        if (!this->meet(i0, m, j0, n)) continue;
        index const r0 = i0 - first;
        bool const accumulate = sums.accumulates(r0, i0, m, j0, n);
        products.scores(m, n, i0, j0, {query[r0], query.stride}, keys, mine.s, coming);
        for (index r = 0; r < m; ++r)
          this->weigh(mine.s + r * this->pitch, {i0 + r, j0}, this->seen_of(i0 + r, j0, n), n, mine.max[r0 + r],
                      mine.sum[r0 + r], accumulate ? o[r0 + r] : nullptr);
        products.weighted(m, n, i0, j0, mine.s, values, w.values, {o[r0], w.values}, accumulate, coming);
      }
    }
    this->finish(task, at[of_out], end - first, sums);
  }
};

template <class Number>
struct attention_backward_in_blocks : attention_backward<Number> {
  using T = Number;
  using A = compute_t<T>;
  using attention_backward<T>::attention_backward;

  struct memory {
    A *s, *ds, *dk, *dv, *q, *k, *v, *g, *keys, *key_rows, *values, *query_rows, *g_rows;
  };
  [[nodiscard]] memory from(scratch_memory& m) const {
    auto const r = this->rows, c = this->columns, h = this->what.head, w = this->what.values;
    auto const copied = [](index n) { return attention_products_of<T>::copied(n); };
    return {m.take<A>(r * this->pitch),
            m.take<A>(r * this->pitch),
            m.take<A>(c * h),
            m.take<A>(c * w),
            m.take<A>(r * h),
            m.take<A>(copied(c * h)),
            m.take<A>(copied(c * w)),
            m.take<A>(r * w),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(c, h)),
            m.take<A>(panels<A>::size(w, c)),
            m.take<A>(panels<A>::size(r, h)),
            m.take<A>(panels<A>::size(r, w))};
  }

  void operator()(index task, memory const& mine) {
    this->for_blocks(task, [&](index j0, index of, coming_rows<T>& coming) { keys(of, j0, mine, coming); });
  }

 private:
  /// What one block of keys contributes to all gradients.
  void keys(index task, index j0, memory const& mine, coming_rows<T>& coming) {
    auto const& w = this->what;
    attention_products_of<T> const products{*this};
    index const width = std::min(this->columns, w.keys - j0), pitch = this->pitch;
    attention_places shared;
    this->apart.locate(task / this->parts, shared);
    strided_rows<T const> const key{this->k + shared[of_k] + j0 * w.k_row, w.k_row},
        value{this->v + shared[of_v] + j0 * w.v_row, w.v_row};
    panels<A> const key_panels{mine.keys, w.head}, value_panels{mine.values, w.values}, key_rows{mine.key_rows, width};
    key_panels.pack_transposed(products.load_rows(key, width, w.head, mine.k), width);
    key_rows.pack(key, w.head);
    value_panels.pack_transposed(products.load_rows(value, width, w.values, mine.v), width);
    std::fill_n(mine.dk, width * w.head, A(0));
    std::fill_n(mine.dv, width * w.values, A(0));
    this->for_queries(task, j0, width, [&](auto const& sequence, bool accumulate, index i0, index m, index n) {
      index const of_query = sequence.at[of_q] + i0 * w.q_row, of_result = sequence.at[of_out] + i0 * w.out_row;
      strided_rows<T const> const o{this->out + of_result, w.out_row}, gs{this->dout + of_result, w.out_row};
      auto const query = products.copy_rows({this->q + of_query, w.q_row}, m, w.head, mine.q),
                 g = products.copy_rows(gs, m, w.values, mine.g);
      products.scores(m, n, i0, j0, query, key_panels, mine.s, coming);
      products.scores(m, n, i0, j0, g, value_panels, mine.ds, coming);
      for (index r = 0; r < m; ++r) {
        index const row = sequence.at[of_sequence] * w.queries + i0 + r;
        this->differentiate(mine.s + r * pitch, mine.ds + r * pitch, {i0 + r, j0}, this->seen_of(i0 + r, j0, n), n,
                            this->max_of_rows[row], this->sum_of_rows[row], this->dot(row, gs[r], o[r]));
      }
      panels<A> const g_rows{mine.g_rows, m}, query_rows{mine.query_rows, m};
      g_rows.pack(g, w.values);
      query_rows.pack(query, w.head);
      products.transposed_weighted(m, n, i0, j0, mine.s, g_rows, w.values, {mine.dv, w.values}, coming);
      products.transposed_weighted(m, n, i0, j0, mine.ds, query_rows, w.head, {mine.dk, w.head}, coming);
      products.weighted(m, n, i0, j0, mine.ds, key_rows, w.head, {sequence.to[i0], sequence.to.stride}, accumulate,
                        coming);
    });
    for (index j = 0; j < width; ++j) {
      this->store_row(this->dk + shared[of_k] + (j0 + j) * w.k_row, mine.dk + j * w.head, w.head, A(1));
      this->store_row(this->dv + shared[of_v] + (j0 + j) * w.v_row, mine.dv + j * w.values, w.values, A(1));
    }
  }
};

}  // namespace mtf::kokkos
