#pragma once
// Causal attention on the host, in blocks that stay in a core's cache: what is the same whatever multiplies the blocks.
// Forward, the softmax is taken over the keys as they come (Milakov & Gimelshein 2018; Dao et al. 2022): a row keeps
// its maximum and its sum so far, and these are kept for the backward pass. Backward, the scores are computed again;
// blocks of keys are outermost (Dao 2023), so that their gradients stay in cache. Each worker is one thread with
// scratch memory of its own; tasks are handed out as workers get free.
#include <atomic>

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
  index pitch;  // from row to row, a vector more than needed: at powers of two rows would share a few sets of the cache

  attention_blocks(attention_shape const& shape, A by, index worker_count)
      : what(shape), batch(nest_of(shape.batch)), scale(by), workers(worker_count) {
    set_columns(std::min<index>(256, shape.keys));
  }
  void set_columns(index n) {
    columns = n;
    pitch = round_up(n, panels<A>::width) + vector_lanes<A>;
  }

  /// How many of the `n` keys from j0 on query i sees.
  [[nodiscard]] static index visible_from(index i, index j0, index n) { return std::clamp(i - j0 + 1, index{0}, n); }

  static void store_row(T* to, A const* from, index n, A factor) {
    MTF_SIMD
    for (index h = 0; h < n; ++h) to[h] = convert<T>(factor * from[h]);
  }

  /// Turns n products of a query with keys, `seen` of which it sees, into weights relative to the largest score so far;
  /// rescales `o`, the sum with the earlier weights. The exponents are computed as in differentiate(), where the scaled
  /// products are terms of fused multiply-adds: of rounded ones large weights would be others there.
  void weigh(A* s, index seen, index n, A& max, A& sum, A* o) const {
    host_team const team;
    index const padded = round_up(seen, vector_lanes<A>);
    if (scale == A(0)) std::fill_n(s, seen, A(0));
    A const by = scale == A(0) ? A(1) : scale;
    std::fill(s + seen, s + padded, s[0]);  // is no larger than the largest
    A const largest =
        max_op::of(max, team.template max<A>(padded, [=](index j) MTF_INLINE_LAMBDA { return by * s[j]; }));
    std::fill(s + seen, s + padded, by > A(0) ? max_op::neutral<A>() : -max_op::neutral<A>());
    A const shift = shift_of(largest);
    A const added = team.template sum<A>(
        padded, [=](index j) MTF_INLINE_LAMBDA { return s[j] = fast_exp_down(by * s[j] - shift); });
    if (padded < n) std::fill(s + padded, s + n, A(0));
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
  void differentiate(A* s, A* ds, index seen, index n, A max, A sum, A dot) const {
    A const factor = scale, shift = shift_of(max), share = A(1) / sum, rest = factor * dot;
    host_team{}.each(round_up(seen, vector_lanes<A>), [=](index j) MTF_INLINE_LAMBDA {
      A const p = share * fast_exp_down(factor * s[j] - shift);
      s[j] = p;
      ds[j] = p * (factor * ds[j] - rest);
    });
    if (seen < n) {
      std::fill(s + seen, s + n, A(0));
      std::fill(ds + seen, ds + n, A(0));
    }
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

  index task_rows = 4 * rows;  // of queries, which use a block of keys while it is in cache

  attention_forward(attention_shape const& shape, A scale, index worker_count, T* o, A* max_, A* sum_, T const* q_,
                    T const* k_, T const* v_)
      : base(shape, scale, worker_count), out(o), max_of_rows(max_), sum_of_rows(sum_), q(q_), k(k_), v(v_) {
    while (task_rows > rows && tasks() < 4 * workers) task_rows /= 2;
  }

  [[nodiscard]] index blocks() const { return ceil_div(what.queries, task_rows); }
  [[nodiscard]] index tasks() const { return batch.l.size() * blocks(); }
  [[nodiscard]] index first_row(index task) const { return (blocks() - 1 - task % blocks()) * task_rows; }

  void begin(index n, A* max, A* sum) const {
    std::fill_n(max, n, max_op::neutral<A>());
    std::fill_n(sum, n, A(0));
  }
  void finish(index task, index at, index n, strided_rows<A> o, A const* max, A const* sum) const {
    index const first = first_row(task);
    for (index r = 0; r < n; ++r) {
      base::store_row(out + at + (first + r) * what.q_row, o[r], what.head, A(1) / sum[r]);
      index const row = task / blocks() * what.queries + first + r;
      max_of_rows[row] = max[r];
      sum_of_rows[row] = sum[r];
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
      coming.add(k + at[1], w.k_row, std::min(columns, w.keys));
      coming.add(v + at[2], w.v_row, std::min(columns, w.keys));
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
    // equal work. A part's first block is number `part`, so queries before it get nothing from this part.
    index const part = task % parts;
    for (index i = 0; i < std::min(part * columns, w.queries); ++i) std::fill_n(to[i], w.head, A(0));
    for (index c = part; c < blocks(); ++c)
      if (index const turn = c % (2 * parts); turn == part || turn == 2 * parts - 1 - part)
        of_keys(task / parts, at, c * columns, to, c > part, coming);
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
