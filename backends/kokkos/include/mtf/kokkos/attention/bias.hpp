#pragma once
// The gradient of attention's bias on the host: the weights' gradients once more, summed over what the bias lacks.
#include <mtf/backend/primitives/attention.hpp>
#include <mtf/kokkos/attention/blocks.hpp>

namespace mtf::kokkos {

/// A task is a block of the bias, to which nobody else adds: of its batch, and of queries and keys where it has them.
template <class T>
struct attention_bias_backward : attention_blocks<T> {
  using base = attention_blocks<T>;
  using A = typename base::A;
  using base::what, base::rows, base::columns, base::pitch;
  T* dbias;
  T const *q, *k, *v, *out;
  A const *max_of_rows, *sum_of_rows;
  T const* dout;
  A const* dot_of_rows;
  nest<9> apart, summed;

  attention_bias_backward(index worker_count, primitives::attention_bias_vjp<T> const& p)
      : base(p.of, p.scale, worker_count, p.bias),
        dbias(p.dbias),
        q(p.q),
        k(p.k),
        v(p.v),
        out(p.out),
        max_of_rows(p.max),
        sum_of_rows(p.sum),
        dout(p.dout),
        dot_of_rows(p.dot),
        apart(attention_nest(p.of.batch, attention_loops::moving, of_bias)),
        summed(attention_nest(p.of.batch, attention_loops::still, of_bias)) {}

  [[nodiscard]] bool has_query() const { return what.bias_query != 0; }
  [[nodiscard]] bool has_key() const { return what.bias_key != 0; }
  [[nodiscard]] index query_blocks() const { return has_query() ? ceil_div(what.queries, rows) : 1; }
  [[nodiscard]] index key_blocks() const { return has_key() ? ceil_div(what.keys, columns) : 1; }
  [[nodiscard]] index tasks() const { return apart.l.size() * query_blocks() * key_blocks(); }

  struct memory {
    A *s, *ds, *sums, *q, *k, *v, *g, *keys, *values;
  };
  [[nodiscard]] memory from(scratch_memory& m) const {
    auto const r = rows, c = columns, h = what.head, w = what.values;
    auto const copied = [](index n) { return attention_products_of<T>::copied(n); };
    return {m.take<A>(r * pitch),
            m.take<A>(r * pitch),
            m.take<A>(r * c),
            m.take<A>(r * h),
            m.take<A>(copied(c * h)),
            m.take<A>(copied(c * w)),
            m.take<A>(r * w),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(w, c))};
  }

  void operator()(index task, memory const& mine) {
    index const key_block = task % key_blocks(), query_block = task / key_blocks() % query_blocks();
    index const i_begin = query_block * rows,
                i_end = has_query() ? std::min(i_begin + rows, what.queries) : what.queries,
                j_begin = key_block * columns, j_end = has_key() ? std::min(j_begin + columns, what.keys) : what.keys;
    attention_places first;
    apart.locate(task / key_blocks() / query_blocks(), first);
    std::fill_n(mine.sums, rows * columns, A(0));
    for (index e = 0; e < summed.l.size(); ++e) {
      attention_places at;
      summed.locate(e, at);
      for (int o = 0; o <= of_sequence; ++o) at[o] += first[o];
      base::begin(at);
      for (index j0 = j_begin; j0 < j_end; j0 += columns) add(at, i_begin, i_end, j0, mine);
    }
    for (index i = i_begin; i < (has_query() ? i_end : i_begin + 1); ++i)
      for (index j = j_begin; j < (has_key() ? j_end : j_begin + 1); ++j)
        dbias[first[of_bias] + i * what.bias_query + j * what.bias_key] =
            convert<T>(mine.sums[(i - i_begin) * columns + j - j_begin]);
  }

 private:
  /// Adds what a block of keys has, with these queries.
  void add(attention_places const& at, index i_begin, index i_end, index j0, memory const& mine) {
    auto const& w = what;
    attention_products_of<T> const products{*this};
    index const width = std::min(columns, w.keys - j0);
    coming_rows<T> coming(0);
    panels<A> const keys{mine.keys, w.head}, values{mine.values, w.values};
    keys.pack_transposed(products.load_rows({k + at[of_k] + j0 * w.k_row, w.k_row}, width, w.head, mine.k), width);
    values.pack_transposed(products.load_rows({v + at[of_v] + j0 * w.v_row, w.v_row}, width, w.values, mine.v), width);
    for (index i0 = i_begin; i0 < i_end; i0 += rows) {
      index const m = std::min(rows, i_end - i0), n = std::min(width, base::last_key(i0 + m) - j0);
      if (!base::meet(i0, m, j0, n)) continue;
      index const of_result = at[of_out] + i0 * w.out_row;
      strided_rows<T const> const o{out + of_result, w.out_row}, gs{dout + of_result, w.out_row};
      auto const query = products.copy_rows({q + at[of_q] + i0 * w.q_row, w.q_row}, m, w.head, mine.q),
                 g = products.copy_rows(gs, m, w.values, mine.g);
      products.scores(m, n, i0, j0, query, keys, mine.s, coming);
      products.scores(m, n, i0, j0, g, values, mine.ds, coming);
      for (index r = 0; r < m; ++r) {
        index const row = at[of_sequence] * w.queries + i0 + r;
        alignas(vector_bytes) A slope[base::most_columns];
        A* const ds = mine.ds + r * pitch;
        A const dot = dot_of_rows != nullptr ? dot_of_rows[row] : dot_of(host_team{}, w.values, gs[r], o[r]);
        base::differentiate_scores(mine.s + r * pitch, ds, {i0 + r, j0}, base::seen_of(i0 + r, j0, n), n,
                                   max_of_rows[row], sum_of_rows[row], dot, slope);
        add_row(mine.sums + (has_query() ? r * columns : 0), ds, n);
      }
    }
  }
  void add_row(A* sums, A const* ds, index n) const {
    host_team const team;
    if (has_key())
      team.each(n, [=](index j) MTF_INLINE_LAMBDA { sums[j] += ds[j]; });
    else
      sums[0] += team.template sum<A>(n, [=](index j) MTF_INLINE_LAMBDA { return ds[j]; });
  }
};

}  // namespace mtf::kokkos
