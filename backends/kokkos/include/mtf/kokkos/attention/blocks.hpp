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
  [[nodiscard]] strided_rows<A const> copy_rows(strided_rows<T const> x, index n, A* copy) const {
    index const head = of.what.head;
    for (index r = 0; r < n; ++r) {
      MTF_SIMD
      for (index h = 0; h < head; ++h) copy[r * head + h] = load(x[r][h]);
    }
    return {copy, head};
  }
  /// The rows themselves where T is computed in T, else a copy.
  [[nodiscard]] strided_rows<A const> load_rows(strided_rows<T const> x, index n, A* copy) const {
    if constexpr (std::is_same_v<T, A>)
      return x;
    else
      return copy_rows(x, n, copy);
  }
  [[nodiscard]] index copied(index n) const { return std::is_same_v<T, A> ? 0 : n * of.what.head; }

  /// s[i, j] = a[i] b[j] where query i0 + i sees key j0 + j, and somewhat beyond.
  void scores(index m, index n, index i0, index j0, strided_rows<A const> a, panels<A> b, A* s,
              coming_rows<T>& coming) const {
    multiply_block(m, round_up(n, panels<A>::width), {a.at, a.stride, 1}, b, {s, of.pitch}, false,
                   [&](index i, index r, index j) {
                     coming.ask_for_some();
                     return of.score_terms(i0 + i, r, j0 + j, of.what.head);
                   });
  }
  /// c[i] (+)= the sum of s[i, j] b[j] over what query i0 + i sees of the n keys from j0 on.
  void weighted(index m, index n, index i0, index j0, A const* s, panels<A> b, strided_rows<A> c, bool accumulate,
                coming_rows<T>& coming) const {
    multiply_block(m, of.what.head, {s, of.pitch, 1}, b, c, accumulate, [&](index i, index r, index) {
      coming.ask_for_some();
      return of.keys_of(i0 + i, i0 + i + r, j0, n);
    });
  }
  /// c[j] += the sum of s[i, j] b[i] over those of the m queries from i0 on that see key j0 + j.
  void transposed_weighted(index m, index n, index i0, index j0, A const* s, panels<A> b, strided_rows<A> c,
                           coming_rows<T>& coming) const {
    multiply_block(n, of.what.head, {s, 1, of.pitch}, b, c, true, [&](index j, index r, index) {
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
    auto const r = this->task_rows, c = this->columns, h = this->what.head;
    return {m.take<A>(this->rows * this->pitch),
            m.take<A>(r * h),
            m.take<A>(r),
            m.take<A>(r),
            m.take<A>(r * h),
            m.take<A>(attention_products_of<T>{*this}.copied(c)),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(c, h))};
  }

  void operator()(index task, memory const& mine) const {
    auto const& w = this->what;
    attention_products_of<T> const products{*this};
    index const first = this->first_row(task), end = std::min(first + this->task_rows, w.queries);
    index at[3];
    this->batch.locate(task / this->blocks(), at);
    auto coming = this->after(task, at[0] + first * w.q_row, end - first);
    auto const query = products.copy_rows({this->q + at[0] + first * w.q_row, w.q_row}, end - first, mine.q);
    strided_rows<A> const o{mine.o, w.head};
    typename attention_forward<T>::row_sums sums(*this, end - first, o, mine.max, mine.sum);
    index const last = this->last_key(end);
    for (index j0 = this->first_block(first, end); j0 < last; j0 += this->columns) {
      index const width = std::min(this->columns, last - j0);
      if (!this->meet(first, end - first, j0, width)) continue;
      panels<A> const keys{mine.keys, w.head}, values{mine.values, width};
      keys.pack_transposed(products.load_rows({this->k + at[1] + j0 * w.k_row, w.k_row}, width, mine.k), width);
      values.pack(strided_rows<T const>{this->v + at[2] + j0 * w.v_row, w.v_row}, w.head);
      for (index i0 = first; i0 < end; i0 += this->rows) {
        index const m = std::min(this->rows, end - i0), n = std::min(width, this->last_key(i0 + m) - j0);
        if (!this->meet(i0, m, j0, n)) continue;
        index const r0 = i0 - first;
        bool const accumulate = sums.accumulates(r0, i0, m, j0, n);
        products.scores(m, n, i0, j0, {query[r0], query.stride}, keys, mine.s, coming);
        for (index r = 0; r < m; ++r)
          this->weigh(mine.s + r * this->pitch, this->seen_of(i0 + r, j0, n), n, mine.max[r0 + r], mine.sum[r0 + r],
                      accumulate ? o[r0 + r] : nullptr);
        products.weighted(m, n, i0, j0, mine.s, values, {o[r0], w.head}, accumulate, coming);
      }
    }
    this->finish(task, at[0], end - first, sums);
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
    auto const r = this->rows, c = this->columns, h = this->what.head,
               copied = attention_products_of<T>{*this}.copied(c);
    return {m.take<A>(r * this->pitch),
            m.take<A>(r * this->pitch),
            m.take<A>(c * h),
            m.take<A>(c * h),
            m.take<A>(r * h),
            m.take<A>(copied),
            m.take<A>(copied),
            m.take<A>(r * h),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(c, h)),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(r, h)),
            m.take<A>(panels<A>::size(r, h))};
  }

  void operator()(index task, memory const& mine) const {
    this->for_blocks(task, [&](index sequence, index const(&at)[3], index j0, strided_rows<A> to, bool accumulate,
                               coming_rows<T>& coming) { keys(sequence, at, j0, to, accumulate, mine, coming); });
  }

 private:
  /// What one block of keys contributes to all gradients.
  void keys(index sequence, index const (&at)[3], index j0, strided_rows<A> to, bool accumulate, memory const& mine,
            coming_rows<T>& coming) const {
    auto const& w = this->what;
    attention_products_of<T> const products{*this};
    index const width = std::min(this->columns, w.keys - j0), pitch = this->pitch;
    strided_rows<T const> const key{this->k + at[1] + j0 * w.k_row, w.k_row};
    panels<A> const key_panels{mine.keys, w.head}, value_panels{mine.values, w.head}, key_rows{mine.key_rows, width};
    key_panels.pack_transposed(products.load_rows(key, width, mine.k), width);
    key_rows.pack(key, w.head);
    value_panels.pack_transposed(products.load_rows({this->v + at[2] + j0 * w.v_row, w.v_row}, width, mine.v), width);
    std::fill_n(mine.dk, width * w.head, A(0));
    std::fill_n(mine.dv, width * w.head, A(0));
    this->for_queries(j0, width, [&](index i0, index m, index n) {
      auto const rows_of = [&](T const* x) { return strided_rows<T const>{x + at[0] + i0 * w.q_row, w.q_row}; };
      strided_rows<T const> const o = rows_of(this->out), gs = rows_of(this->dout);
      auto const query = products.copy_rows(rows_of(this->q), m, mine.q), g = products.copy_rows(gs, m, mine.g);
      products.scores(m, n, i0, j0, query, key_panels, mine.s, coming);
      products.scores(m, n, i0, j0, g, value_panels, mine.ds, coming);
      for (index r = 0; r < m; ++r) {
        index const row = sequence * w.queries + i0 + r;
        this->differentiate(mine.s + r * pitch, mine.ds + r * pitch, this->seen_of(i0 + r, j0, n), n,
                            this->max_of_rows[row], this->sum_of_rows[row], this->dot(gs[r], o[r]));
      }
      panels<A> const g_rows{mine.g_rows, m}, query_rows{mine.query_rows, m};
      g_rows.pack(g, w.head);
      query_rows.pack(query, w.head);
      products.transposed_weighted(m, n, i0, j0, mine.s, g_rows, {mine.dv, w.head}, coming);
      products.transposed_weighted(m, n, i0, j0, mine.ds, query_rows, {mine.dk, w.head}, coming);
      products.weighted(m, n, i0, j0, mine.ds, key_rows, {to[i0], to.stride}, accumulate, coming);
    });
    for (index j = 0; j < width; ++j) {
      this->store_row(this->dk + at[1] + (j0 + j) * w.k_row, mine.dk + j * w.head, w.head, A(1));
      this->store_row(this->dv + at[2] + (j0 + j) * w.v_row, mine.dv + j * w.head, w.head, A(1));
    }
  }
};

}  // namespace mtf::kokkos
