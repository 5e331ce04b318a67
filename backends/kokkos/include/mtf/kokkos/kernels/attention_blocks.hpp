#pragma once
// Causal attention on the host, in blocks that stay in a core's cache. Forward, the softmax is taken over the keys as
// they come (Milakov & Gimelshein 2018; Dao et al. 2022): a row keeps its maximum and its sum so far. Kept for the
// backward pass is the logarithm of the sum. Backward, the scores are computed again; blocks of keys are outermost (Dao
// 2023), so that their gradients stay in cache. Each worker is one thread with scratch memory of its own; tasks are
// handed out as workers get free.
#include <array>
#include <atomic>
#include <cstring>

#include <mtf/core/element.hpp>
#include <mtf/kokkos/gemm/bfloat16_units.hpp>
#include <mtf/kokkos/gemm/block_product.hpp>
#include <mtf/kokkos/kernels/attention_memory.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>
#include <mtf/kokkos/launch/nest.hpp>

namespace mtf::kokkos {

template <class T>
struct attention_blocks {
  using A = compute_t<T>;
  attention_shape what;
  nest<3> batch;
  A scale;
  static constexpr index rows = 64;  // of a block of scores
  index columns;
  index pitch;  // from row to row, a vector more than needed: at powers of two rows would share a few sets of the cache
  bool paired;
  index terms;  // of a score

  attention_blocks(attention_shape const& shape, A by)
      : what(shape), batch(nest_of(shape.batch)), scale(by), columns(std::min<index>(256, shape.keys)) {
    set_columns(columns);
    set_paired(pairs_are_faster());
  }
  void set_columns(index n) {
    columns = n;
    pitch = round_up(n, panels<A>::width) + vector_lanes<A>;
  }

  void set_paired(bool pairs) {
    paired = pairs;
    terms = pairs ? ceil_div(what.head, 2) : what.head;
  }
  /// Are scores of bfloat16 to be computed by products of pairs? Decided by the processor's kind.
  static bool pairs_are_faster() {
    if constexpr (MTF_PAIR_PRODUCTS && std::is_same_v<T, bfloat16>) {
      static bool const faster = bfloat16_units::here().dot_pays();
      return faster;
    }
    return false;
  }

  /// How many of the `n` keys from j0 on query i sees.
  [[nodiscard]] static index visible_from(index i, index j0, index n) { return std::clamp(i - j0 + 1, index{0}, n); }

  /// A dense copy of rows that are read often: at powers of two apart they would displace each other from the caches.
  [[nodiscard]] strided_rows<A const> copy_rows(strided_rows<T const> x, index n, A* copy) const {
    for (index r = 0; r < n; ++r) {
      MTF_SIMD
      for (index h = 0; h < what.head; ++h) copy[r * what.head + h] = load(x[r][h]);
    }
    return {copy, what.head};
  }
  /// The rows themselves where T is computed in T, else a copy.
  [[nodiscard]] strided_rows<A const> load_rows(strided_rows<T const> x, index n, A* copy) const {
    if constexpr (std::is_same_v<T, A>)
      return x;
    else
      return copy_rows(x, n, copy);
  }
  [[nodiscard]] index copied(index n) const { return std::is_same_v<T, A> ? 0 : n * what.head; }
  /// A copy in which two numbers take the place of one.
  [[nodiscard]] strided_rows<A const> pair_rows(strided_rows<T const> x, index n, A* copy) const {
    for (index r = 0; r < n; ++r) {
      copy[(r + 1) * terms - 1] = 0;  // an odd number of them
      std::memcpy(copy + r * terms, x[r], static_cast<std::size_t>(what.head) * sizeof(T));
    }
    return {copy, terms};
  }
  /// What scores are computed from.
  [[nodiscard]] strided_rows<A const> factors(strided_rows<T const> x, index n, A* copy) const {
    return paired ? pair_rows(x, n, copy) : load_rows(x, n, copy);
  }
  static void store_row(T* to, A const* from, index n, A factor) {
    MTF_SIMD
    for (index h = 0; h < n; ++h) to[h] = convert<T>(factor * from[h]);
  }

  /// s[i, j] = factor a[i] b[j] where query i0 + i sees key j0 + j, and somewhat beyond.
  void scores(index m, index n, index i0, index j0, A factor, strided_rows<A const> a, panels<A> b, A* s,
              coming_rows<T>& coming) const {
    auto const some = [&](index i, index r, index j) {
      coming.ask_for_some();
      return term_range{0, i0 + i + r > j0 + j ? terms : 0};
    };
    auto const wide = round_up(n, panels<A>::width);
#if MTF_PAIR_PRODUCTS
    if constexpr (std::is_same_v<T, bfloat16>)
      if (paired) return multiply_block<pair_product>(m, wide, factor, {a.at, a.stride, 1}, b, {s, pitch}, false, some);
#endif
    multiply_block(m, wide, factor, {a.at, a.stride, 1}, b, {s, pitch}, false, some);
  }
  /// c[i] (+)= the sum of s[i, j] b[j] over what query i0 + i sees of the n keys from j0 on.
  void weighted(index m, index n, index i0, index j0, A const* s, panels<A> b, strided_rows<A> c, bool accumulate,
                coming_rows<T>& coming) const {
    multiply_block(m, what.head, A(1), {s, pitch, 1}, b, c, accumulate, [&](index i, index r, index) {
      coming.ask_for_some();
      return term_range{0, visible_from(i0 + i + r - 1, j0, n)};
    });
  }
  /// c[j] += the sum of s[i, j] b[i] over those of the m queries from i0 on that see key j0 + j.
  void transposed_weighted(index m, index n, index i0, index j0, A const* s, panels<A> b, strided_rows<A> c,
                           coming_rows<T>& coming) const {
    multiply_block(n, what.head, A(1), {s, 1, pitch}, b, c, true, [&](index j, index, index) {
      coming.ask_for_some();
      return term_range{std::max(index{0}, j0 + j - i0), m};
    });
  }
};

template <class T>
struct attention_forward : attention_blocks<T> {
  using base = attention_blocks<T>;
  using A = typename base::A;
  using base::visible_from, base::copied, base::copy_rows, base::pair_rows, base::factors, base::store_row,
      base::scores, base::weighted;
  using base::what, base::batch, base::scale, base::rows, base::columns, base::pitch, base::paired, base::terms;
  T* out;
  A* lse;
  T const *q, *k, *v;

  index task_rows = 4 * rows;  // of queries, which use a block of keys while it is in cache
  index workers;

  attention_forward(attention_shape const& shape, A scale, index worker_count, T* o, A* l, T const* q_, T const* k_,
                    T const* v_)
      : base(shape, scale), out(o), lse(l), q(q_), k(k_), v(v_), workers(worker_count) {
    while (task_rows > rows && tasks() < 4 * workers) task_rows /= 2;
  }

  struct memory {
    A *s, *o, *max, *sum, *q, *k, *keys, *values;
  };
  [[nodiscard]] memory from(scratch_memory& m) const {
    auto const r = task_rows, c = columns, h = what.head;
    return {m.take<A>(rows * pitch),
            m.take<A>(r * h),
            m.take<A>(r),
            m.take<A>(r),
            m.take<A>(r * h),
            m.take<A>(copied(c)),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(c, h))};
  }
  [[nodiscard]] index blocks() const { return ceil_div(what.queries, task_rows); }
  [[nodiscard]] index tasks() const { return batch.l.size() * blocks(); }

  /// A task is some rows of queries of one sequence. Its last rows, which see the most keys, come first.
  void operator()(index task, memory const& mine) const {
    auto const& w = what;
    index const first = (blocks() - 1 - task % blocks()) * task_rows, end = std::min(first + task_rows, w.queries);
    index at[3];
    batch.locate(task / blocks(), at);
    auto coming = after(task, at[0] + first * w.q_row, end - first);
    strided_rows<T const> const queries{q + at[0] + first * w.q_row, w.q_row};
    auto const query = paired ? pair_rows(queries, end - first, mine.q) : copy_rows(queries, end - first, mine.q);
    strided_rows<A> const o{mine.o, w.head};
    std::fill_n(mine.max, end - first, max_op::neutral<A>());
    std::fill_n(mine.sum, end - first, A(0));
    for (index j0 = 0; j0 < std::min(end, w.keys); j0 += columns) {
      index const width = std::min({columns, w.keys - j0, end - j0});
      panels<A> const keys{mine.keys, terms}, values{mine.values, width};
      keys.pack_transposed(factors({k + at[1] + j0 * w.k_row, w.k_row}, width, mine.k), width);
      values.pack(strided_rows<T const>{v + at[2] + j0 * w.v_row, w.v_row}, w.head);
      for (index i0 = first; i0 < end; i0 += rows) {
        index const m = std::min(rows, end - i0), n = std::min(width, i0 + m - j0);
        if (n <= 0) continue;
        index const r0 = i0 - first;
        scores(m, n, i0, j0, scale, {query[r0], query.stride}, keys, mine.s, coming);
        for (index r = 0; r < m; ++r)
          weigh(mine.s + r * pitch, visible_from(i0 + r, j0, n), n, mine.max[r0 + r], mine.sum[r0 + r],
                j0 > 0 ? o[r0 + r] : nullptr);
        weighted(m, n, i0, j0, mine.s, values, {o[r0], w.head}, j0 > 0, coming);
      }
    }
    for (index r = 0; r < end - first; ++r) {
      store_row(out + at[0] + (first + r) * w.q_row, o[r], w.head, A(1) / mine.sum[r]);
      lse[task / blocks() * w.queries + first + r] = shift_of(mine.max[r]) + fast_log(mine.sum[r]);
    }
  }

 private:
  /// What to prefetch: where this task will write, and what the worker's next one reads.
  [[nodiscard]] coming_rows<T> after(index task, index here, index n) const {
    auto const& w = what;
    coming_rows<T> rows(w.head);
    rows.add(out + here, w.q_row, n);
    if (index const then = task + workers; then < tasks()) {
      index at[3];
      batch.locate(then / blocks(), at);
      index const first = (blocks() - 1 - then % blocks()) * task_rows, end = std::min(first + task_rows, w.queries);
      rows.add(q + at[0] + first * w.q_row, w.q_row, end - first);
      rows.add(k + at[1], w.k_row, std::min(columns, w.keys));
      rows.add(v + at[2], w.v_row, std::min(columns, w.keys));
    }
    return rows;
  }
  /// Turns scores into weights relative to the largest score so far; rescales `o`, the sum with the earlier weights.
  void weigh(A* s, index seen, index n, A& max, A& sum, A* o) const {
    host_team const team;
    index const padded = round_up(seen, vector_lanes<A>);
    std::fill(s + seen, s + padded, max_op::neutral<A>());
    A const largest = max_op::of(max, max_of(team, padded, static_cast<A const*>(s))), shift = shift_of(largest);
    A const added =
        team.template sum<A>(padded, [=](index j) MTF_INLINE_LAMBDA { return s[j] = fast_exp_down(s[j] - shift); });
    if (padded < n) std::fill(s + padded, s + n, A(0));
    if (o != nullptr) {
      A const kept = fast_exp_down(max - shift);
      team.each(what.head, [=](index h) MTF_INLINE_LAMBDA { o[h] *= kept; });
      sum *= kept;
    }
    max = largest;
    sum += added;
  }
};

template <class T>
struct attention_backward : attention_blocks<T> {
  using base = attention_blocks<T>;
  using A = typename base::A;
  using base::visible_from, base::copied, base::copy_rows, base::pair_rows, base::factors, base::store_row,
      base::scores, base::weighted, base::transposed_weighted;
  using base::what, base::batch, base::scale, base::rows, base::columns, base::pitch, base::paired, base::terms;
  T *dq, *dk, *dv;
  T const *q, *k, *v, *out;
  A const* lse;
  T const* dout;
  index workers;
  index parts = 1;    // tasks that share the blocks of keys of one sequence
  A* sums = nullptr;  // each task's sums for dq; null: they are taken in dq itself

  attention_backward(attention_shape const& shape, A scale, index worker_count, T* dq_, T* dk_, T* dv_, T const* q_,
                     T const* k_, T const* v_, T const* o, A const* l, T const* g)
      : base(shape, scale),
        dq(dq_),
        dk(dk_),
        dv(dv_),
        q(q_),
        k(k_),
        v(v_),
        out(o),
        lse(l),
        dout(g),
        workers(worker_count) {
    index const sequences = batch.l.size();
    while (columns >= 2 * rows && sequences * blocks() < workers) base::set_columns(columns / 2);
    while (parts < blocks() && sequences * parts < 4 * workers && sequences * parts % workers != 0) ++parts;
  }

  struct memory {
    A *s, *ds, *dk, *dv, *q, *k, *v, *g, *q_pairs, *g_pairs, *keys, *key_rows, *values, *query_rows, *g_rows;
  };
  [[nodiscard]] memory from(scratch_memory& m) const {
    auto const r = rows, c = columns, h = what.head;
    return {m.take<A>(r * pitch),
            m.take<A>(r * pitch),
            m.take<A>(c * h),
            m.take<A>(c * h),
            m.take<A>(r * h),
            m.take<A>(copied(c)),
            m.take<A>(copied(c)),
            m.take<A>(r * h),
            m.take<A>(paired ? r * terms : 0),
            m.take<A>(paired ? r * terms : 0),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(c, h)),
            m.take<A>(panels<A>::size(h, c)),
            m.take<A>(panels<A>::size(r, h)),
            m.take<A>(panels<A>::size(r, h))};
  }
  [[nodiscard]] index blocks() const { return ceil_div(what.keys, columns); }
  [[nodiscard]] index tasks() const { return batch.l.size() * parts; }
  /// How many elements `sums` needs.
  [[nodiscard]] index sum_count() const {
    return std::is_same_v<T, A> && parts == 1 ? 0 : tasks() * what.queries * what.head;
  }

  void operator()(index task, memory const& mine) const {
    auto const& w = what;
    index at[3];
    batch.locate(task / parts, at);
    strided_rows<A> const to = sums_of(task, at[0]);
    auto coming = after(task, at);
    // Blocks of later keys are seen by fewer queries: dealt to the parts forth and back (0 1 2 2 1 0), they are about
    // equal work. A part's first block is number `part`, so queries before it get nothing from this part.
    index const part = task % parts;
    for (index i = 0; i < std::min(part * columns, w.queries); ++i) std::fill_n(to[i], w.head, A(0));
    for (index c = part; c < blocks(); ++c)
      if (index const turn = c % (2 * parts); turn == part || turn == 2 * parts - 1 - part)
        keys(task / parts, at, c * columns, to, c > part, mine, coming);
  }

 private:
  [[nodiscard]] strided_rows<A> sums_of(index task, index at) const {
    if constexpr (std::is_same_v<T, A>)
      if (sums == nullptr) return {dq + at, what.q_row};
    return {sums + task * what.queries * what.head, what.head};
  }

  /// What one block of keys contributes to all gradients.
  void keys(index sequence, index const (&at)[3], index j0, strided_rows<A> const& to, bool accumulate,
            memory const& mine, coming_rows<T>& coming) const {
    auto const& w = what;
    index const width = std::min(columns, w.keys - j0);
    strided_rows<T const> const key{k + at[1] + j0 * w.k_row, w.k_row};
    panels<A> const key_panels{mine.keys, terms}, value_panels{mine.values, terms}, key_rows{mine.key_rows, width};
    key_panels.pack_transposed(factors(key, width, mine.k), width);
    key_rows.pack(key, w.head);
    value_panels.pack_transposed(factors({v + at[2] + j0 * w.v_row, w.v_row}, width, mine.v), width);
    std::fill_n(mine.dk, width * w.head, A(0));
    std::fill_n(mine.dv, width * w.head, A(0));
    for (index i0 = j0 / rows * rows; i0 < w.queries; i0 += rows) {
      index const m = std::min(rows, w.queries - i0), n = std::min(width, i0 + m - j0);
      if (n <= 0) continue;
      strided_rows<T const> const o{out + at[0] + i0 * w.q_row, w.q_row};
      strided_rows<T const> const queries{q + at[0] + i0 * w.q_row, w.q_row}, gs{dout + at[0] + i0 * w.q_row, w.q_row};
      auto const query = copy_rows(queries, m, mine.q), g = copy_rows(gs, m, mine.g);
      scores(m, n, i0, j0, scale, paired ? pair_rows(queries, m, mine.q_pairs) : query, key_panels, mine.s, coming);
      scores(m, n, i0, j0, A(1), paired ? pair_rows(gs, m, mine.g_pairs) : g, value_panels, mine.ds, coming);
      for (index r = 0; r < m; ++r)
        differentiate(mine.s + r * pitch, mine.ds + r * pitch, visible_from(i0 + r, j0, n), n,
                      lse[sequence * w.queries + i0 + r], dot(g[r], o[r]));
      panels<A> const g_rows{mine.g_rows, m}, query_rows{mine.query_rows, m};
      g_rows.pack(g, w.head);
      query_rows.pack(query, w.head);
      transposed_weighted(m, n, i0, j0, mine.s, g_rows, {mine.dv, w.head}, coming);
      transposed_weighted(m, n, i0, j0, mine.ds, query_rows, {mine.dk, w.head}, coming);
      weighted(m, n, i0, j0, mine.ds, key_rows, {to[i0], to.stride}, accumulate, coming);
    }
    for (index j = 0; j < width; ++j) {
      store_row(dk + at[1] + (j0 + j) * w.k_row, mine.dk + j * w.head, w.head, A(1));
      store_row(dv + at[2] + (j0 + j) * w.v_row, mine.dv + j * w.head, w.head, A(1));
    }
  }

  /// What to prefetch: where this task will write, and what the worker's next one begins with.
  [[nodiscard]] coming_rows<T> after(index task, index const (&here)[3]) const {
    auto const& w = what;
    coming_rows<T> rows(w.head);
    index const n = std::min(columns, w.keys);
    rows.add(dk + here[1], w.k_row, n);
    rows.add(dv + here[2], w.v_row, n);
    if (index const then = task + workers; then < tasks()) {
      index at[3];
      batch.locate(then / parts, at);
      rows.add(k + at[1], w.k_row, n);
      rows.add(v + at[2], w.v_row, n);
      for (T const* x : {q, dout, out, static_cast<T const*>(dq)}) rows.add(x + at[0], w.q_row, w.queries);
    }
    return rows;
  }
  [[nodiscard]] A dot(A const* g, T const* o) const {
    return host_team{}.template sum<A>(what.head, [=](index h) MTF_INLINE_LAMBDA { return g[h] * load(o[h]); });
  }

  /// s: scores to weights; ds: the weights' gradient to the scores'.
  void differentiate(A* s, A* ds, index seen, index n, A sum, A dot) const {
    A const factor = scale;
    host_team{}.each(round_up(seen, vector_lanes<A>), [=](index j) MTF_INLINE_LAMBDA {
      A const p = fast_exp_down(s[j] - sum);
      s[j] = p;
      ds[j] = factor * p * (ds[j] - dot);
    });
    if (seen < n) {
      std::fill(s + seen, s + n, A(0));
      std::fill(ds + seen, ds + n, A(0));
    }
  }
};

/// dq = the sums of all parts, row by row.
template <class T>
struct attention_gradient_sum {
  attention_backward<T> of;
  void operator()(index row) const {
    auto const& w = of.what;
    index const sequence = row / w.queries, i = row % w.queries, part = w.queries * w.head;
    index at[3];
    of.batch.locate(sequence, at);
    compute_t<T>* const sum = of.sums + sequence * of.parts * part + i * w.head;
    for (index p = 1; p < of.parts; ++p)
      host_team{}.each(w.head, [=](index h) MTF_INLINE_LAMBDA { sum[h] += sum[p * part + h]; });
    attention_blocks<T>::store_row(of.dq + at[0] + i * w.q_row, sum, w.head, 1);
  }
};

template <class Tasks>
struct attention_worker {
  Tasks const* work;
  std::atomic<index>* next;
  std::byte* scratch;
  index scratch_bytes;

  void operator()(index worker) const {
    scratch_memory part(scratch + worker * scratch_bytes);
    auto const mine = work->from(part);
    for (index task = (*next)++; task < work->tasks(); task = (*next)++) (*work)(task, mine);
  }
};

template <class Exec, class Tasks>
void do_attention_tasks(char const* label, device<Exec>& on, Tasks const& work) {
  index const workers = std::min<index>(on.exec.concurrency(), work.tasks());
  scratch_memory needed;
  static_cast<void>(work.from(needed));
  workspace<std::byte, Exec> const scratch(on, workers * needed.bytes());
  std::atomic<index> next = 0;
  on.exec.fence();
  Kokkos::parallel_for(label, range_policy<Exec>(on.exec, 0, workers),
                       attention_worker<Tasks>{&work, &next, scratch.get(), needed.bytes()});
  on.exec.fence();
}

template <class Exec, class T, class A>
void attention_in_blocks(device<Exec>& on, attention_shape const& shape, A scale, T* out, A* lse, T const* q,
                         T const* k, T const* v) {
  do_attention_tasks("mtf::attention", on,
                     attention_forward<T>(shape, scale, on.exec.concurrency(), out, lse, q, k, v));
}

template <class Exec, class T, class A>
void attention_vjp_in_blocks(device<Exec>& on, attention_shape const& shape, A scale, T* dq, T* dk, T* dv, T const* q,
                             T const* k, T const* v, T const* out, A const* lse, T const* dout) {
  attention_backward<T> work(shape, scale, on.exec.concurrency(), dq, dk, dv, q, k, v, out, lse, dout);
  workspace<A, Exec> const sums(on, work.sum_count());
  work.sums = sums.get();
  do_attention_tasks("mtf::attention_vjp", on, work);
  if (work.sums != nullptr)
    Kokkos::parallel_for("mtf::attention_vjp, sums",
                         range_policy<Exec>(on.exec, 0, work.batch.l.size() * shape.queries),
                         attention_gradient_sum<T>{work});
}

}  // namespace mtf::kokkos
