#pragma once
// Attention on the host, in blocks that stay in a core's cache: what is the same whatever multiplies the blocks.
// Forward, the softmax is taken over the keys as they come (Milakov & Gimelshein 2018; Dao et al. 2022): a row keeps
// its maximum and its sum so far, and these are kept for the backward pass. Backward, the scores are computed again;
// blocks of keys are outermost (Dao 2023), so that their gradients stay in cache. Each worker is one thread with
// scratch memory of its own; tasks are handed out as workers get free.
#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include <mtf/core/element.hpp>
#include <mtf/kokkos/attention/memory.hpp>
#include <mtf/kokkos/gemm/block_product.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>
#include <mtf/kokkos/launch/nest.hpp>

namespace mtf::kokkos {

template <class T>
struct attention_blocks {
  using A = compute_t<T>;
  attention_shape what;
  nest<3> batch;
  A scale;
  index workers;
  static constexpr index rows = 64;  // of a block of scores
  index columns;
  index present;  // of the keys those that there are in the sequence of the task
  index pitch;  // from row to row, a vector more than needed: at powers of two rows would share a few sets of the cache

  attention_blocks(attention_shape const& shape, A by, index worker_count)
      : what(shape), batch(nest_of(shape.batch)), scale(by), workers(worker_count), present(shape.keys) {
    set_columns(std::min<index>(256, shape.keys));
  }
  void set_columns(index n) {
    columns = n;
    pitch = round_up(n, panels<A>::width) + vector_lanes<A>;
  }

  /// How many keys there are in a sequence.
  [[nodiscard]] index present_in(index sequence) const {
    return what.lengths == nullptr ? what.keys : std::clamp<index>(what.lengths[sequence], 0, what.keys);
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
    return n > 0 && what.seen.sees_some(i, i + m, j, j + n);
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

  /// Turns n products of a query with keys, of which it sees `seen`, into weights relative to the largest score so far;
  /// rescales `o`, the sum with the earlier weights. The exponents are computed as in differentiate(), where the scaled
  /// products are terms of fused multiply-adds: of rounded ones large weights would be others there.
  void weigh(A* s, seen_keys const& seen, index n, A& max, A& sum, A* o) const {
    host_team const team;
    vectors const v(seen);
    if (scale == A(0)) std::fill(s + v.begin, s + seen.end, A(0));
    A const by = scale == A(0) ? A(1) : scale;
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
      team.each(what.head, [=](index h) MTF_INLINE_LAMBDA { o[h] *= kept; });
      sum *= kept;
    }
    max = largest;
    sum += added;
  }
  /// s: a query's products with n keys to weights; ds: the weights' gradient to the products'. `max` and `sum` are what
  /// weigh() left, `dot` the sum of each weight times its gradient.
  void differentiate(A* s, A* ds, seen_keys const& seen, index n, A max, A sum, A dot) const {
    A const factor = scale, shift = shift_of(max), share = A(1) / sum, rest = factor * dot;
    vectors const v(seen);
    A *const x = s + v.begin, *const dx = ds + v.begin;
    host_team{}.each(v.end - v.begin, [=](index j) MTF_INLINE_LAMBDA {
      A const p = share * fast_exp_down(factor * x[j] - shift);
      x[j] = p;
      dx[j] = p * (factor * dx[j] - rest);
    });
    for (A* const row : {s, ds}) {
      fill(row, 0, seen.begin, A(0));
      fill(row, seen.gap, seen.gap_end, A(0));
      fill(row, seen.end, n, A(0));
    }
  }

 private:
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

/// Forward, a task is some rows of queries of one sequence. Its last rows, which see the most keys, come first.
template <class T>
struct attention_forward : attention_blocks<T> {
  using base = attention_blocks<T>;
  using A = typename base::A;
  using base::what, base::batch, base::rows, base::columns, base::workers;
  T* out;
  A *max_of_rows, *sum_of_rows;
  T const *q, *k, *v;

  static constexpr index most_strips = 4;
  index task_rows = most_strips * rows;  // of queries, which use a block of keys while it is in cache

  attention_forward(attention_shape const& shape, A scale, index worker_count, T* o, A* max_, A* sum_, T const* q_,
                    T const* k_, T const* v_)
      : base(shape, scale, worker_count), out(o), max_of_rows(max_), sum_of_rows(sum_), q(q_), k(k_), v(v_) {
    while (task_rows > rows && tasks() < 4 * workers) task_rows /= 2;
  }

  [[nodiscard]] index blocks() const { return ceil_div(what.queries, task_rows); }
  [[nodiscard]] index tasks() const { return batch.l.size() * blocks(); }
  [[nodiscard]] index sequence(index task) const { return task / blocks(); }
  [[nodiscard]] index first_row(index task) const { return (blocks() - 1 - task % blocks()) * task_rows; }

  /// The sums of a task's rows, strip by strip as they meet blocks of keys.
  struct row_sums {
    attention_forward const& of;
    strided_rows<A> o;
    A *max, *sum;
    std::array<bool, most_strips> begun{};

    row_sums(attention_forward const& tasks, index n, strided_rows<A> rows_, A* max_, A* sum_)
        : of(tasks), o(rows_), max(max_), sum(sum_) {
      std::fill_n(max, n, max_op::neutral<A>());
      std::fill_n(sum, n, A(0));
    }
    /// Whether the m rows from r0 on, which are queries from i0 on, have sums to which those of the n keys from j0 on
    /// are added. The first block that each of them sees makes them.
    bool accumulates(index r0, index i0, index m, index j0, index n) {
      if (std::exchange(begun[static_cast<std::size_t>(r0 / rows)], true)) return true;
      if (of.meet(i0, 1, j0, n) && of.meet(i0 + m - 1, 1, j0, n)) return false;
      clear(r0, m);
      return true;
    }
    /// Rows that met no block.
    void clear_rest(index n) {
      for (index r0 = 0; r0 < n; r0 += rows)
        if (!begun[static_cast<std::size_t>(r0 / rows)]) clear(r0, std::min(rows, n - r0));
    }

   private:
    void clear(index r0, index m) {
      for (index r = r0; r < r0 + m; ++r) std::fill_n(o[r], of.what.head, A(0));
    }
  };
  /// The first of the keys that rows [first, end) see, at the begin of its block.
  [[nodiscard]] index first_block(index first, index end) const {
    return base::keys_of(first, end, 0, what.keys).begin / columns * columns;
  }
  void finish(index task, index at, index n, row_sums& sums) const {
    index const first = first_row(task);
    sums.clear_rest(n);
    for (index r = 0; r < n; ++r) {
      bool const sees = what.seen.keys(first + r, base::present).count() > 0;
      base::store_row(out + at + (first + r) * what.q_row, sums.o[r], what.head, sees ? A(1) / sums.sum[r] : A(0));
      index const row = task / blocks() * what.queries + first + r;
      max_of_rows[row] = sums.max[r];
      sum_of_rows[row] = sums.sum[r];
    }
  }
  /// What to prefetch: where this task will write, and what the worker's next one reads.
  [[nodiscard]] coming_rows<T> after(index task, index here, index n) const {
    auto const& w = what;
    coming_rows<T> coming(w.head);
    coming.add(out + here, w.q_row, n);
    if (index const then = task + workers; then < tasks()) {
      index at[3];
      batch.locate(then / blocks(), at);
      index const first = first_row(then), end = std::min(first + task_rows, w.queries);
      coming.add(q + at[0] + first * w.q_row, w.q_row, end - first);
      index const j0 = std::min(first_block(first, end), w.keys - 1), n = std::min(columns, w.keys - j0);
      coming.add(k + at[1] + j0 * w.k_row, w.k_row, n);
      coming.add(v + at[2] + j0 * w.v_row, w.v_row, n);
    }
    return coming;
  }
};

/// Backward, a task is some of the blocks of keys of one sequence.
template <class T>
struct attention_backward : attention_blocks<T> {
  using base = attention_blocks<T>;
  using A = typename base::A;
  using base::what, base::batch, base::rows, base::columns, base::workers;
  T *dq, *dk, *dv;
  T const *q, *k, *v, *out;
  A const *max_of_rows, *sum_of_rows;
  T const* dout;
  index parts = 1;    // tasks that share the blocks of keys of one sequence
  A* sums = nullptr;  // each task's sums for dq; null: they are taken in dq itself

  attention_backward(attention_shape const& shape, A scale, index worker_count, T* dq_, T* dk_, T* dv_, T const* q_,
                     T const* k_, T const* v_, T const* o, A const* max_, A const* sum_, T const* g)
      : base(shape, scale, worker_count),
        dq(dq_),
        dk(dk_),
        dv(dv_),
        q(q_),
        k(k_),
        v(v_),
        out(o),
        max_of_rows(max_),
        sum_of_rows(sum_),
        dout(g) {
    index const sequences = batch.l.size();
    while (columns >= 2 * rows && sequences * blocks() < workers) base::set_columns(columns / 2);
    while (parts < blocks() && sequences * parts < 4 * workers && sequences * parts % workers != 0) ++parts;
  }

  [[nodiscard]] index blocks() const { return ceil_div(what.keys, columns); }
  [[nodiscard]] index tasks() const { return batch.l.size() * parts; }
  [[nodiscard]] index sequence(index task) const { return task / parts; }
  /// How many elements `sums` needs.
  [[nodiscard]] index sum_count() const {
    return std::is_same_v<T, A> && parts == 1 ? 0 : tasks() * what.queries * what.head;
  }

  /// Calls of_keys(sequence, offsets of its queries, keys and values, the block's first key, sums for dq, whether to
  /// add to them, what to prefetch) for the task's blocks.
  template <class OfKeys>
  void for_blocks(index task, OfKeys const& of_keys) const {
    auto const& w = what;
    index at[3];
    batch.locate(task / parts, at);
    strided_rows<A> const to = sums_of(task, at[0]);
    auto coming = after(task, at);
    // Blocks of later keys are seen by fewer queries: dealt to the parts forth and back (0 1 2 2 1 0), they are about
    // equal work. A part's first block is number `part`: queries before those that see it get nothing from this part.
    // Later ones see it as well, unless they forget, or there are no such keys.
    index const part = task % parts;
    bool const all_see = !w.seen.forgets() && part * columns < base::present;
    index const before = all_see ? w.seen.first_query(part * columns, w.queries) : w.queries;
    for (index i = 0; i < before; ++i) std::fill_n(to[i], w.head, A(0));
    for (index c = part; c < blocks(); ++c)
      if (index const turn = c % (2 * parts); turn == part || turn == 2 * parts - 1 - part)
        of_keys(task / parts, at, c * columns, to, c > part || !all_see, coming);
  }
  /// Calls of_queries(first query, how many, how many of the keys from j0 on) for the blocks of queries that see some
  /// of `width` keys.
  template <class OfQueries>
  void for_queries(index j0, index width, OfQueries const& of_queries) const {
    auto const& w = what;
    index const end = w.seen.end_of_queries(j0, j0 + width, w.queries);
    for (index i0 = w.seen.first_query(j0, w.queries) / rows * rows; i0 < end; i0 += rows) {
      index const m = std::min(rows, w.queries - i0), n = std::min(width, base::last_key(i0 + m) - j0);
      if (base::meet(i0, m, j0, n)) of_queries(i0, m, n);
    }
  }
  /// The sum of each weight times its gradient, for one query.
  [[nodiscard]] A dot(T const* g, T const* o) const {
    return host_team{}.template sum<A>(what.head, [=](index h) MTF_INLINE_LAMBDA { return load(g[h]) * load(o[h]); });
  }

 private:
  [[nodiscard]] strided_rows<A> sums_of(index task, index at) const {
    if constexpr (std::is_same_v<T, A>)
      if (sums == nullptr) return {dq + at, what.q_row};
    return {sums + task * what.queries * what.head, what.head};
  }
  /// What to prefetch: where this task will write, and what the worker's next one begins with.
  [[nodiscard]] coming_rows<T> after(index task, index const (&here)[3]) const {
    auto const& w = what;
    coming_rows<T> coming(w.head);
    index const n = std::min(columns, w.keys);
    coming.add(dk + here[1], w.k_row, n);
    coming.add(dv + here[2], w.v_row, n);
    if (index const then = task + workers; then < tasks()) {
      index at[3];
      batch.locate(then / parts, at);
      coming.add(k + at[1], w.k_row, n);
      coming.add(v + at[2], w.v_row, n);
      for (T const* x : {q, dout, out, static_cast<T const*>(dq)}) coming.add(x + at[0], w.q_row, w.queries);
    }
    return coming;
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
    Tasks here = *work;
    for (index task = (*next)++; task < work->tasks(); task = (*next)++) {
      here.present = work->present_in(work->sequence(task));
      here(task, mine);
    }
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

/// The backward pass: its tasks, and then the sums that they left for dq.
template <class Exec, class Tasks>
void do_attention_vjp(device<Exec>& on, Tasks work) {
  workspace<typename Tasks::A, Exec> const sums(on, work.sum_count());
  work.sums = sums.get();
  do_attention_tasks("mtf::attention_vjp", on, work);
  if (work.sums != nullptr)
    Kokkos::parallel_for("mtf::attention_vjp, sums",
                         range_policy<Exec>(on.exec, 0, work.batch.l.size() * work.what.queries),
                         attention_gradient_sum<typename Tasks::T>{work});
}

}  // namespace mtf::kokkos
