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

#include <mtf/kokkos/attention/memory.hpp>
#include <mtf/kokkos/attention/row_of_scores.hpp>

namespace mtf::kokkos {

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
                    T const* k_, T const* v_, T const* bias = nullptr)
      : base(shape, scale, worker_count, bias), out(o), max_of_rows(max_), sum_of_rows(sum_), q(q_), k(k_), v(v_) {
    while (task_rows > rows && tasks() < 4 * workers) task_rows /= 2;
  }

  [[nodiscard]] index blocks() const { return ceil_div(what.queries, task_rows); }
  [[nodiscard]] index tasks() const { return batch.l.size() * blocks(); }
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
      for (index r = r0; r < r0 + m; ++r) std::fill_n(o[r], of.what.values, A(0));
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
      bool const sees = what.seen.keys(first + r, base::present).count() > 0 &&
                        (base::its_query_ids == nullptr || sums.sum[r] != A(0) || base::finds_its_id(first + r));
      base::store_row(out + at + (first + r) * what.out_row, sums.o[r], what.values, sees ? A(1) / sums.sum[r] : A(0));
      index const row = task / blocks() * what.queries + first + r;
      max_of_rows[row] = sums.max[r];
      sum_of_rows[row] = sums.sum[r];
    }
  }
  /// What to prefetch: where this task will write, and what the worker's next one reads.
  [[nodiscard]] coming_rows<T> after(index task, index here, index n) const {
    auto const& w = what;
    coming_rows<T> coming(w.head);
    coming.add(out + here, w.out_row, n);
    if (index const then = task + workers; then < tasks()) {
      attention_places at;
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

/// Backward, a task is some of the blocks of keys of one sequence, or of several, whose queries share the keys: of
/// these it takes one after the other, so that the keys' gradients are sums that nobody else adds to.
template <class T>
struct attention_backward : attention_blocks<T> {
  using base = attention_blocks<T>;
  using A = typename base::A;
  using base::what, base::rows, base::columns, base::workers;
  T *dq, *dk, *dv;
  T const *q, *k, *v, *out;
  A const *max_of_rows, *sum_of_rows;
  T const* dout;
  A const* dot_of_rows;    // null: they are computed
  nest<9> apart, sharing;  // the batch: those with keys of their own, and those of each that share them
  index parts = 1;         // tasks that share the blocks of keys of one sequence
  A* sums = nullptr;       // each task's sums for dq; null: they are taken in dq itself

  attention_backward(attention_shape const& shape, A scale, index worker_count, T* dq_, T* dk_, T* dv_, T const* q_,
                     T const* k_, T const* v_, T const* o, A const* max_, A const* sum_, T const* g,
                     T const* bias = nullptr, A const* dots = nullptr)
      : base(shape, scale, worker_count, bias),
        dq(dq_),
        dk(dk_),
        dv(dv_),
        q(q_),
        k(k_),
        v(v_),
        out(o),
        max_of_rows(max_),
        sum_of_rows(sum_),
        dout(g),
        dot_of_rows(dots),
        apart(attention_nest(shape.batch, attention_loops::moving)),
        sharing(attention_nest(shape.batch, attention_loops::still)) {
    index const sequences = apart.l.size();
    while (columns >= 2 * rows && sequences * blocks() < workers) base::set_columns(columns / 2);
    while (parts < blocks() && sequences * parts < 4 * workers && sequences * parts % workers != 0) ++parts;
  }

  [[nodiscard]] index blocks() const { return ceil_div(what.keys, columns); }
  [[nodiscard]] index tasks() const { return apart.l.size() * parts; }
  [[nodiscard]] index sharers() const { return sharing.l.size(); }
  /// How many elements `sums` needs.
  [[nodiscard]] index sum_count() const {
    return std::is_same_v<T, A> && parts == 1 ? 0 : tasks() * sharers() * what.queries * what.head;
  }

  /// One of the sequences that a task works on.
  struct sequence {
    attention_places at;
    strided_rows<A> to;  // sums for dq
    bool all_see;        // its queries, but for the first ones, see the task's first block
  };
  [[nodiscard]] sequence begin_sequence(index task, index sharer) {
    sequence s;
    attention_places more;
    apart.locate(task / parts, s.at);
    sharing.locate(sharer, more);
    for (int o = 0; o <= of_sequence; ++o) s.at[o] += more[o];
    base::begin(s.at);
    s.to = sums_of(task, sharer, s.at[of_q]);
    s.all_see = !what.seen.forgets() && what.query_ids == nullptr && task % parts * columns < base::present;
    return s;
  }

  /// Calls of_keys(the block's first key, the task, what to prefetch) for the task's blocks.
  template <class OfKeys>
  void for_blocks(index task, OfKeys const& of_keys) {
    auto const& w = what;
    // Blocks of later keys are seen by fewer queries: dealt to the parts forth and back (0 1 2 2 1 0), they are about
    // equal work. A part's first block is number `part`: queries before those that see it get nothing from this part.
    // Later ones see it as well, unless they forget, or have an id, or there are no such keys.
    index const part = task % parts;
    for (index g = 0; g < sharers(); ++g) {
      auto const s = begin_sequence(task, g);
      index const before = s.all_see ? w.seen.first_query(part * columns, w.queries) : w.queries;
      for (index i = 0; i < before; ++i) std::fill_n(s.to[i], w.head, A(0));
    }
    auto coming = after(task, begin_sequence(task, 0).at);
    for (index c = part; c < blocks(); ++c)
      if (index const turn = c % (2 * parts); turn == part || turn == 2 * parts - 1 - part)
        of_keys(c * columns, task, coming);
  }
  /// Calls of_queries(sequence, whether to add to its sums, first query, how many, how many of the keys from j0 on) for
  /// the blocks of queries that see some of `width` keys.
  template <class OfQueries>
  void for_queries(index task, index j0, index width, OfQueries const& of_queries) {
    auto const& w = what;
    index const end = w.seen.end_of_queries(j0, j0 + width, w.queries);
    for (index g = 0; g < sharers(); ++g) {
      auto const s = begin_sequence(task, g);
      bool const accumulate = j0 > task % parts * columns || !s.all_see;
      for (index i0 = w.seen.first_query(j0, w.queries) / rows * rows; i0 < end; i0 += rows) {
        index const m = std::min(rows, w.queries - i0), n = std::min(width, base::last_key(i0 + m) - j0);
        if (base::meet(i0, m, j0, n)) of_queries(s, accumulate, i0, m, n);
      }
    }
  }
  /// The sum of each weight times its gradient, for one query, the `row`-th of all.
  [[nodiscard]] A dot(index row, T const* g, T const* o) const {
    if (dot_of_rows != nullptr) return dot_of_rows[row];
    return host_team{}.template sum<A>(what.values, [=](index h) MTF_INLINE_LAMBDA { return load(g[h]) * load(o[h]); });
  }

 private:
  [[nodiscard]] strided_rows<A> sums_of(index task, index sharer, index at) const {
    if constexpr (std::is_same_v<T, A>)
      if (sums == nullptr) return {dq + at, what.q_row};
    return {sums + (task * sharers() + sharer) * what.queries * what.head, what.head};
  }
  /// What to prefetch: where this task will write, and what the worker's next one begins with.
  [[nodiscard]] coming_rows<T> after(index task, attention_places const& here) const {
    auto const& w = what;
    coming_rows<T> coming(w.head);
    index const n = std::min(columns, w.keys);
    coming.add(dk + here[1], w.k_row, n);
    coming.add(dv + here[2], w.v_row, n);
    if (index const then = task + workers; then < tasks()) {
      attention_places at;
      apart.locate(then / parts, at);
      coming.add(k + at[1], w.k_row, n);
      coming.add(v + at[2], w.v_row, n);
      for (T const* x : {q, static_cast<T const*>(dq)}) coming.add(x + at[of_q], w.q_row, w.queries);
      for (T const* x : {dout, out}) coming.add(x + at[of_out], w.out_row, w.queries);
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
    index const i = row % w.queries, group = row / w.queries, sharers = of.sharers();
    attention_places at, more;
    of.apart.locate(group / sharers, at);
    of.sharing.locate(group % sharers, more);
    index const part = sharers * w.queries * w.head;
    compute_t<T>* const sum = of.sums + group / sharers * of.parts * part + (group % sharers * w.queries + i) * w.head;
    for (index p = 1; p < of.parts; ++p)
      host_team{}.each(w.head, [=](index h) MTF_INLINE_LAMBDA { sum[h] += sum[p * part + h]; });
    attention_blocks<T>::store_row(of.dq + at[of_q] + more[of_q] + i * w.q_row, sum, w.head, 1);
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
    for (index task = (*next)++; task < work->tasks(); task = (*next)++) here(task, mine);
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
