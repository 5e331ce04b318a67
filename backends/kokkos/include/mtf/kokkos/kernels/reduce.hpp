#pragma once
// Sums, maxima and minima over any loops. Two shapes of kernel: `row` where the reduced loops are the contiguous ones,
// `column` where the kept ones are. Reductions to few results are split into slices, by sizes alone and not by the
// number of threads, so that results do not depend on it. Long sums are taken in halves, down to blocks of few
// additions to one number: the error of what is added one after the other grows with the number of terms.
#include <algorithm>
#include <type_traits>
#include <utility>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/kokkos/launch/copy.hpp>
#include <mtf/kokkos/launch/nest.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>
#include <mtf/kokkos/launch/team.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/math/order.hpp>
#if MTF_HAS_DEVICES
#include <mtf/kokkos/launch/batch.hpp>
#endif

namespace mtf::kokkos {

// What a reduction combines, and by which operation. For maxima and minima these are not the numbers but their places
// in an order (math/order.hpp): integers, of which every compiler and device takes maxima.
struct by_sum {
  using op = sum_op;
  template <class A>
  using term = A;
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static A term_of(A x) {
    return x;
  }
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static A number_of(term<A> x) {
    return x;
  }
};
template <bool Smallest>
struct by_order {
  using op = max_op;
  template <class A>
  using term = order_t<A>;
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static term<A> term_of(A x) {
    return order_of(Smallest ? reversed(x) : x);
  }
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static A number_of(term<A> x) {
    A const n = number_at<A>(x);
    return Smallest ? reversed(n) : n;
  }
};

/// What all reduce kernels share. Slice s of result k goes to partial[s * results + k], or to `out` if there is one
/// slice.
template <class By, class T, class R>
struct reduce_job {
  using A = compute_t<R>;
  using op = typename By::op;
  using term = typename By::template term<A>;
  nest<2> kept;
  nest<1> reduced;
  index results, terms, slices, slice_terms;
  R* out;
  T const* in;
  term* partial;
  bool accumulate;

  template <class X>
  KOKKOS_FORCEINLINE_FUNCTION static term term_of(X const& x) {
    return By::template term_of<A>(static_cast<A>(load(x)));
  }
  KOKKOS_FORCEINLINE_FUNCTION void finish(index k, index out_offset, index s, term value) const {
    if (slices > 1)
      partial[s * results + k] = value;
    else
      out[out_offset] =
          convert<R>(By::template number_of<A>(accumulate ? op::of(term_of(out[out_offset]), value) : value));
  }
};

template <class By, class T, class R>
struct reduce_rows {
  using job_type = reduce_job<By, T, R>;
  using op = typename job_type::op;
  using term = typename job_type::term;
  job_type job;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index item) const {
    index const k = item / job.slices, s = item % job.slices;
    index at[2];
    job.kept.locate(k, at);
    index const begin = s * job.slice_terms;
    index const end = begin + job.slice_terms < job.terms ? begin + job.slice_terms : job.terms;
    T const* const from = job.in + at[1];
    term value = op::template neutral<term>();
    if constexpr (std::is_same_v<Team, host_team>) {
      bool const in_runs = job.reduced.inner_stride(0) == 1 &&
                           job.reduced.l.extent[static_cast<std::size_t>(job.reduced.l.ndim - 1)] >= 1024;
      index const most = in_runs ? 16384 : 512;  // of neighbours a team has many sums
      value = end - begin <= most ? block(from, begin, end) : in_halves(from, begin, end, most);
    } else {
      auto const& reduced = job.reduced;
      value = team.template reduce<op, term>(end - begin, [&](index j) {
        index offset[1];
        reduced.locate(begin + j, offset);
        return job_type::term_of(from[offset[0]]);
      });
    }
    team.once([&] { job.finish(k, at[0], s, value); });
  }

 private:
  term in_halves(T const* from, index begin, index end, index most) const {
    if (end - begin <= most) return block(from, begin, end);
    index const middle = begin + ceil_div(end - begin, 2 * most) * most;
    return op::of(in_halves(from, begin, middle, most), in_halves(from, middle, end, most));
  }
  MTF_FUNCTION term block(T const* from, index begin, index end) const {
    host_team const team;
    term value = op::template neutral<term>();
    index const stride = job.reduced.inner_stride(0);
    job.reduced.for_runs(begin, end, [&](index const(&offset)[1], index n) {
      T const* const x = from + offset[0];
      if (stride == 1)
        value = op::of(value, team.template reduce<op, term>(n, [=](index j) { return job_type::term_of(x[j]); }));
      else
        for (index j = 0; j < n; ++j) value = op::of(value, job_type::term_of(x[j * stride]));
    });
    return value;
  }
};

/// The host's column kernel: a strip of neighbouring results at a time.
template <class By, class T, class R>
struct reduce_strips {
  using job_type = reduce_job<By, T, R>;
  using op = typename job_type::op;
  using term = typename job_type::term;
  static constexpr index width = 512, most = 512;  // of rows that are added up one after the other
  job_type job;

  [[nodiscard]] static index strips(nest<2> const& kept) { return ceil_div(inner(kept), width); }
  [[nodiscard]] static index inner(nest<2> const& kept) {
    return kept.l.extent[static_cast<std::size_t>(kept.l.ndim - 1)];
  }

  void operator()(index item) const {
    index const s = item % job.slices, strip = item / job.slices % strips(job.kept);
    index const k = item / job.slices / strips(job.kept) * inner(job.kept) + strip * width;
    index const w = std::min(width, inner(job.kept) - strip * width);
    index at[2];
    job.kept.locate(k, at);
    index const begin = s * job.slice_terms, end = std::min(job.terms, begin + job.slice_terms);

    alignas(64) term sums[width];
    for (index c = 0; c < w; ++c) sums[c] = op::template neutral<term>();
    if (end - begin <= most)
      block(sums, w, job.in + at[1], begin, end);
    else
      in_halves(sums, w, job.in + at[1], begin, end);
    index const out_stride = job.kept.inner_stride(0);
    for (index c = 0; c < w; ++c) job.finish(k + c, at[0] + c * out_stride, s, sums[c]);
  }

 private:
  void in_halves(term* sums, index w, T const* from, index begin, index end) const {
    if (end - begin <= most) return block(sums, w, from, begin, end);
    index const middle = begin + ceil_div(end - begin, 2 * most) * most;
    in_halves(sums, w, from, begin, middle);
    alignas(64) term rest[width];
    for (index c = 0; c < w; ++c) rest[c] = op::template neutral<term>();
    in_halves(rest, w, from, middle, end);
    MTF_SIMD
    for (index c = 0; c < w; ++c) sums[c] = op::of(sums[c], rest[c]);
  }
  MTF_FUNCTION void block(term* sums, index w, T const* from, index begin, index end) const {
    index const stride = job.reduced.inner_stride(0);
    job.reduced.for_runs(begin, end, [&](index const(&offset)[1], index n) {
      T const* const x = from + offset[0];
      index j = 0;
      for (; j + 4 <= n; j += 4) add_four(sums, w, x + j * stride, stride);
      for (; j < n; ++j) add_one(sums, w, x + j * stride);
    });
  }
  static void add_one(term* sums, index w, T const* x) {
    MTF_SIMD
    for (index c = 0; c < w; ++c) sums[c] = op::of(sums[c], job_type::term_of(x[c]));
  }
  static void add_four(term* sums, index w, T const* x, index stride) {
    T const* const x1 = x + stride;
    T const* const x2 = x1 + stride;
    T const* const x3 = x2 + stride;
    MTF_SIMD
    for (index c = 0; c < w; ++c)
      sums[c] = op::of(sums[c], op::of(op::of(job_type::term_of(x[c]), job_type::term_of(x1[c])),
                                       op::of(job_type::term_of(x2[c]), job_type::term_of(x3[c]))));
  }
};

#if MTF_HAS_DEVICES
/// The device's column kernel: a thread for a few neighbouring results, of each slice.
template <class By, class T, class R>
struct reduce_columns {
  using job_type = reduce_job<By, T, R>;
  using op = typename job_type::op;
  using term = typename job_type::term;
  static constexpr int width = pack_width<T>;
  job_type job;
  bool whole;

  explicit reduce_columns(job_type const& j) : job(j), whole(has_whole_packs<width>(j.kept, 1, j.in)) {
    for (int d = 0; d < j.reduced.l.ndim; ++d)
      whole = whole && j.reduced.stride(0, d) * static_cast<index>(sizeof(T)) % pack_alignment<T, width> == 0;
  }

  KOKKOS_FUNCTION void operator()(index item) const {
    index const inner = job.kept.l.extent[static_cast<std::size_t>(job.kept.l.ndim - 1)];
    index const of_inner = (inner + width - 1) / width, groups = job.results / inner * of_inner;
    index const group = item % groups, s = item / groups;
    index at[2];
    index const place = job.kept.template locate<width>(group, at), left = inner - place;
    index const begin = s * job.slice_terms;
    index const end = begin + job.slice_terms < job.terms ? begin + job.slice_terms : job.terms;
    terms value;
    constexpr index block = 512;
    for (index j = begin; j < end;) {
      index const stop = j + block < end ? j + block : end;
      terms part;
      for (; j + 4 <= stop; j += 4) {  // four loads at a time
        auto const a = at_term(at[1], j, left), b = at_term(at[1], j + 1, left), c = at_term(at[1], j + 2, left),
                   d = at_term(at[1], j + 3, left);
        for (int k = 0; k < width; ++k)
          part.of[k] = op::of(part.of[k], op::of(op::of(job_type::term_of(a.x[k]), job_type::term_of(b.x[k])),
                                                 op::of(job_type::term_of(c.x[k]), job_type::term_of(d.x[k]))));
      }
      for (; j < stop; ++j) {
        auto const a = at_term(at[1], j, left);
        for (int k = 0; k < width; ++k) part.of[k] = op::of(part.of[k], job_type::term_of(a.x[k]));
      }
      for (int k = 0; k < width; ++k) value.of[k] = op::of(value.of[k], part.of[k]);
    }
    index const first = group / of_inner * inner + place, out_stride = job.kept.inner_stride(0);
    for (int k = 0; k < width; ++k)
      if (k < left) job.finish(first + k, at[0] + k * out_stride, s, value.of[k]);
  }

 private:
  struct terms {
    term of[width];
    KOKKOS_FORCEINLINE_FUNCTION terms() {
      for (term& t : of) t = op::template neutral<term>();
    }
  };
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION pack<T, width> at_term(index from, index j, index left) const {
    index offset[1];
    job.reduced.locate(j, offset);
    return load_pack<width>(job.in + from + offset[0], 1, left, whole);
  }
};
#endif

/// Combines the slices.
template <class By, class T, class R>
struct reduce_slices {
  using op = typename reduce_job<By, T, R>::op;
  using term = typename reduce_job<By, T, R>::term;
  reduce_job<By, T, R> job;  // with one slice: what finish() writes is final
  index slices;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index k) const {
    term const* const partial = job.partial + k;
    index const results = job.results;
    term const value = team.template reduce<op, term>(slices, [=](index s) { return partial[s * results]; });
    index at[2];
    job.kept.locate(k, at);
    team.once([&] { job.finish(k, at[0], 0, value); });
  }
};

template <class By, class Exec, class T, class R>
void reduce_with(device<Exec>& on, reduction const& r, R* out, T const* in, bool accumulate) {
  reduce_job<By, T, R> job{};
  job.kept = {ordered_by(1, r.kept)};
  job.reduced = {ordered_by(0, r.reduced)};
  job.results = r.kept.size();
  job.terms = r.reduced.size();
  job.out = out;
  job.in = in;
  job.accumulate = accumulate;
  if (job.results == 0) return;

  auto const inner_kept = job.kept.l.extent[static_cast<std::size_t>(job.kept.l.ndim - 1)];
  auto const inner_reduced = job.reduced.l.extent[static_cast<std::size_t>(job.reduced.l.ndim - 1)];
  bool const by_rows = job.kept.inner_stride(1) != 1 || inner_kept < 4 ||
                       (job.reduced.inner_stride(0) == 1 && inner_reduced >= inner_kept);

  // Enough independent pieces for all threads, but none too short. On a device a row has a team, a few columns one
  // thread.
  constexpr bool host = runs_on_host<Exec>;
  index const pieces = host ? 64 : by_rows ? 4096 : 32768, least_terms = host ? 16384 : by_rows ? 1024 : 16;
  index strips = 0;
  if constexpr (host) strips = reduce_strips<By, T, R>::strips(job.kept);
#if MTF_HAS_DEVICES
  else
    strips = ceil_div(inner_kept, reduce_columns<By, T, R>::width);
#endif
  index const items = by_rows ? job.results : job.results / inner_kept * strips;
  index const item_terms = by_rows || !host ? job.terms : job.terms * std::min(inner_kept, index(512));
  job.slices = std::clamp<index>(std::min(pieces / items, item_terms / least_terms), 1, std::max<index>(job.terms, 1));
  job.slice_terms = ceil_div(job.terms, job.slices);
  workspace<typename reduce_job<By, T, R>::term, Exec> partial(on, job.slices > 1 ? job.slices * job.results : 0);
  job.partial = partial.get();

  if (by_rows)
    for_rows("mtf::reduce_rows", on.exec, items * job.slices, job.slice_terms, reduce_rows<By, T, R>{job});
  else if constexpr (host)
    launch_on_host("mtf::reduce_columns", on.exec, items * job.slices, job.results * job.terms,
                   reduce_strips<By, T, R>{job});
#if MTF_HAS_DEVICES
  else
    Kokkos::parallel_for("mtf::reduce_columns", range_policy<Exec>(on.exec, 0, items * job.slices),
                         reduce_columns<By, T, R>(job));
#endif
  if (job.slices > 1) {
    index const slices = std::exchange(job.slices, 1);
    for_rows("mtf::reduce_slices", on.exec, job.results, slices, reduce_slices<By, T, R>{job, slices});
  }
}

/// out[kept] = op over the reduced loops of in, or op(out, that) with `accumulate`. Any strides.
template <class Exec, class T, class R>
void reduce(device<Exec>& on, combine op, reduction const& r, R* out, T const* in, bool accumulate) {
  if constexpr (!std::is_same_v<T, R>) {  // of sums alone
    reduce_with<by_sum>(on, r, out, in, accumulate);
  } else {
    switch (op) {
      case combine::sum:
        return reduce_with<by_sum>(on, r, out, in, accumulate);
      case combine::max:
        return reduce_with<by_order<false>>(on, r, out, in, accumulate);
      case combine::min:
        return reduce_with<by_order<true>>(on, r, out, in, accumulate);
    }
  }
}

/// Rows that are added up one after the other, to one row for each block of them, which are then summed: at most so
/// many.
inline constexpr index rows_added_up = 256;

/// out[0..n) = the sum of `blocks` rows of n numbers, `stride` apart.
template <class Exec, class A, class T>
void add_rows_up(device<Exec>& on, index blocks, index stride, index n, T* out, A const* from) {
  reduction const r{.kept = {1, {n}, {{{1}, {1}}}}, .reduced = {1, {blocks}, {{{stride}}}}};
  if constexpr (std::is_same_v<T, A>) {
    compute(on, primitives::reduce<T>{combine::sum, r, out, from});
  } else {
    workspace<A, Exec> sum(on, n);
    compute(on, primitives::reduce<A>{combine::sum, r, sum.get(), from});
    compute(on, primitives::copy<T, A>{r.kept, out, sum.get()});
  }
}

template <class T>
struct square_sum_body {
  T const* x;
  double* partial;
  index n, slice;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index s) const {
    index const begin = s * slice, left = n - begin;
    T const* const from = x + begin;
    constexpr index ahead = 1024;  // elements: the processor's own prefetchers stop at the ends of pages
    double const sum = team.template sum<double>(
        left < slice ? left : slice,
        [=](index j) MTF_INLINE_LAMBDA {
          auto const v = static_cast<double>(load(from[j]));
          return v * v;
        },
        from + ahead);
    team.once([&] { partial[s] = sum; });
  }
};

/// *out += the sum of squares of x.
template <class Exec, class T>
void square_sum(device<Exec>& on, index n, double* out, T const* x) {
  if (n == 0) return;
  index const slice = std::max(host_grain, ceil_div(n, 4096)), slices = ceil_div(n, slice);
  workspace<double, Exec> partial(on, slices);
  for_rows("mtf::square_sum", on.exec, slices, slice, square_sum_body<T>{x, partial.get(), n, slice});
  for_rows("mtf::square_sum_slices", on.exec, 1, slices, add_partials_body{partial.get(), out, slices});
}

template <class Exec, class T, class R>
void compute(device<Exec>& on, primitives::reduce<T, R> const& p) {
  reduce(on, p.op, p.of, p.out, p.in, p.accumulate);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::square_sum<T> const& p) {
  square_sum(on, p.n, p.out, p.x);
}

#if MTF_HAS_DEVICES
template <class T>
struct batched_squares {
  T const* x;
  template <class Team>
  KOKKOS_FUNCTION void chunk(Team const& team, index first, index n, double* partial) const {
    square_sum_body<T>{x + first, partial, n, n}(team, 0);
  }
};
/// Noted, for a batch of them.
template <class Exec, class T>
bool note(batch<Exec>& to, device<Exec>& on, primitives::square_sum<T> const& p) {
  to.note(on, batched_squares<T>{p.x}, p.n, p.out, reads(p.x, p.n));
  return true;
}
#endif

MTF_COMPILED(device, reduce)
MTF_COMPILED(device, square_sum)

}  // namespace mtf::kokkos
