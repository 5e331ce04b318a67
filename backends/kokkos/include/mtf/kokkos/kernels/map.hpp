#pragma once
// Pointwise operations with broadcasting: out = f(in...), and the backward pass that calls f on dual numbers.
// On the host, innermost loops run over contiguous memory only: operands that are broadcast or strided there pass
// through a small buffer. So there is one compute loop for each f, and it vectorizes.
#include <array>
#include <tuple>
#include <utility>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/kokkos/kernels/reduce.hpp>
#include <mtf/kokkos/launch/vectors.hpp>
#include <mtf/math/dual.hpp>

namespace mtf::kokkos {

inline constexpr index map_chunk = 512;

/// One operand of a host map: contiguous elements of an innermost loop, in place or in a buffer.
template <class T>
struct chunk_source {
  alignas(64) T buffer[map_chunk];

  /// Elements [from, from + n) of a run that starts at `run` and advances by `stride`. `first`: a new run starts here.
  T const* get(T const* run, index stride, index from, index n, bool first) {
    if (stride == 1) return run + from;
    if (stride == 0) {
      if (first)
        for (index j = 0; j < n; ++j) buffer[j] = *run;
    } else {
      for (index j = 0; j < n; ++j) buffer[j] = run[(from + j) * stride];
    }
    return buffer;
  }
};

/// Writes contiguous results of a host map to a run: in place, or from a buffer where it is strided, or too large for
/// the caches.
template <class T>
struct chunk_sink {
  bool streams;
  alignas(64) T buffer[map_chunk];

  explicit chunk_sink(index elements) : streams(exceeds_caches<T>(elements)) {}
  ~chunk_sink() {
    if (streams) stream_fence();
  }
  T* get(T* run, index stride, index from) { return stride == 1 && !streams ? run + from : buffer; }
  void put(T* run, index stride, index from, index n) {
    if (stride != 1)
      for (index j = 0; j < n; ++j) run[(from + j) * stride] = buffer[j];
    else if (streams)
      stream(run + from, buffer, n);
  }
};

template <class Indices, class F, class R, class... T>
struct map_kernel;

template <std::size_t... I, class F, class R, class... T>
struct map_kernel<std::index_sequence<I...>, F, R, T...> {
  static constexpr int operands = 1 + static_cast<int>(sizeof...(T));
  nest<operands> where;
  index n;
  F f;
  R* out;
  void const* in[sizeof...(T)];

#if MTF_HAS_DEVICES
  static constexpr int width = pack_width<R, T...>;
  [[nodiscard]] bool has_packs() const {
    return has_whole_packs<width>(where, 0, out) &&
           (has_whole_packs<width>(where, int(I) + 1, static_cast<T const*>(in[I])) && ...);
  }
  KOKKOS_FORCEINLINE_FUNCTION void neighbours(index const (&at)[operands], index left, bool whole) const {
    auto const y = of_packs(
        load_pack<width>(static_cast<T const*>(in[I]) + at[I + 1], where.inner_stride(int(I) + 1), left, whole)...);
    store_pack<width>(out + at[0], where.inner_stride(0), left, whole, y);
  }
  KOKKOS_FORCEINLINE_FUNCTION pack<R, width> of_packs(pack<T, width> const&... x) const {
    pack<R, width> y;
    for (int k = 0; k < width; ++k) y.x[k] = convert<R>(f(load(x.x[k])...));
    return y;
  }
#endif

  /// One block of elements: what a host thread does.
  void block(index b) const {
    chunk_sink<R> result(n);
    std::tuple<chunk_source<T>...> operand;
    bool const direct = where.contiguous() && !result.streams;
    where.for_runs(b * host_grain, std::min(n, (b + 1) * host_grain), [&](index const(&at)[operands], index length) {
      index const step = direct ? length : map_chunk;
      for (index from = 0; from < length; from += step) {
        index const m = std::min(step, length - from);
        index const stride = where.inner_stride(0);
        compute(f, m, result.get(out + at[0], stride, from),
                std::get<I>(operand).get(static_cast<T const*>(in[I]) + at[I + 1], where.inner_stride(int(I) + 1), from,
                                         m, from == 0)...);
        result.put(out + at[0], stride, from, m);
      }
    });
  }

  static void compute(F f, index m, R* y, T const*... x) {
    MTF_SIMD
    for (index j = 0; j < m; ++j) y[j] = convert<R>(f(load(x[j])...));
  }
};

#if MTF_HAS_DEVICES
/// What map_vjp_kernel::term gives for the J-th operand, and for all.
template <std::size_t J, class A>
struct map_term {
  A of;
};
template <class... Terms>
struct map_terms : Terms... {};
#endif

template <class Indices, class F, class R, class... T>
struct map_vjp_kernel;

template <std::size_t... I, class F, class R, class... T>
struct map_vjp_kernel<std::index_sequence<I...>, F, R, T...> {
  static constexpr int operands = 1 + static_cast<int>(sizeof...(T));
  nest<operands> where;
  index n;
  F f;
  R const* dy;
  void* dx[sizeof...(T)];
  void const* in[sizeof...(T)];
  index block_elements = host_grain;
  void* row_sums[sizeof...(T)] = {};  // where the sum over rows is wanted: of each block

#if MTF_HAS_DEVICES
  static constexpr int width = pack_width<R, T...>;
  using terms = map_terms<map_term<I, compute_t<T>>...>;

  [[nodiscard]] bool has_packs() const {
    return has_whole_packs<width>(where, 0, dy) &&
           (has_whole_packs<width>(where, int(I) + 1, static_cast<T const*>(in[I])) && ...) &&
           (has_whole_packs<width>(where, 0, static_cast<T const*>(dx[I])) && ...);
  }
  KOKKOS_FORCEINLINE_FUNCTION void neighbours(index const (&at)[operands], index left, bool whole) const {
    terms x[width];
    gradients(x, at, left, whole);
  }
  /// Stores the gradients that are wanted of neighbours; x: their terms, those of sums too.
  KOKKOS_FORCEINLINE_FUNCTION void gradients(terms (&x)[width], index const (&at)[operands], index left,
                                             bool whole) const {
    of_packs(
        x, load_pack<width>(dy + at[0], where.inner_stride(0), left, whole),
        load_pack<width>(static_cast<T const*>(in[I]) + at[I + 1], where.inner_stride(int(I) + 1), left, whole)...);
    (put_pack<I>(static_cast<T*>(dx[I]), x, at[0], left, whole), ...);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_to_sums(terms (&sums)[width], terms const (&x)[width]) const {
    (add_one_up<I, T>(sums, x), ...);
  }
  /// Writes neighbours' sums from element `at` on.
  KOKKOS_FORCEINLINE_FUNCTION void put_sums(terms const (&sums)[width], index at, index left) const {
    (put_sum<I, T>(sums, at, left), ...);
  }
#endif

  void block(index b) const {
    chunk_source<R> gradient;
    std::tuple<chunk_source<T>...> operand;
    std::tuple<chunk_result<T>...> result(((void)I, n)...);
    index const row = where.l.extent[static_cast<std::size_t>(where.l.ndim - 1)];
    (clear<I, T>(b * row, row), ...);
    auto const run = [&](index const(&at)[operands], index length) {
      for (index from = 0; from < length; from += map_chunk) {
        index const m = std::min(map_chunk, length - from);
        R const* g = gradient.get(dy + at[0], where.inner_stride(0), from, m, from == 0);
        std::tuple<T const*...> const x{std::get<I>(operand).get(
            static_cast<T const*>(in[I]) + at[I + 1], where.inner_stride(int(I) + 1), from, m, from == 0)...};
        if (several()) {
          compute_all(f, m, g, std::get<I>(x)..., std::get<I>(result).terms...);
          (deliver<I, T>(std::get<I>(result), at[0], from, m, b * row + from), ...);
        } else {
          (chunk_of_operand<I>(std::get<I>(result).sink, static_cast<T*>(dx[I]), at[0], from, m, g, std::get<I>(x)...),
           ...);
        }
      }
    };
    where.for_runs(b * block_elements, std::min(n, (b + 1) * block_elements), run);
  }

 private:
  /// A chunk of one operand's gradient.
  template <class D>
  struct chunk_result {
    chunk_sink<D> sink;
    alignas(64) compute_t<D> terms[map_chunk];

    explicit chunk_result(index elements) : sink(elements) {}
  };

  /// What one element adds to the gradient of the J-th operand.
  template <std::size_t J, class D, class G, class... X>
  KOKKOS_FORCEINLINE_FUNCTION static compute_t<D> term(F const& f, G g, X... x) {
    if constexpr (is_floating<D>) {
      using A = compute_t<D>;
      A const outer = static_cast<A>(g), inner = static_cast<A>(derivative<J>(f, x...)),
              chain = math::chained(outer, inner);
      if constexpr (math::selects<F>)
        return math::bitwise_select(inner == A(0), A(0), chain);
      else
        return chain;
    } else {
      return {};
    }
  }
#if MTF_HAS_DEVICES
  KOKKOS_FORCEINLINE_FUNCTION void of_packs(terms (&t)[width], pack<R, width> const& g,
                                            pack<T, width> const&... x) const {
    for (int k = 0; k < width; ++k) t[k] = terms_of(load(g.x[k]), load(x.x[k])...);
  }
  template <class G, class... X>
  KOKKOS_FORCEINLINE_FUNCTION terms terms_of(G g, X... x) const {
    return {{dx[I] != nullptr || row_sums[I] != nullptr ? term<I, T>(f, g, x...) : compute_t<T>{}}...};
  }
  template <std::size_t J, class D>
  KOKKOS_FORCEINLINE_FUNCTION static compute_t<D>& of(terms& x) {
    return static_cast<map_term<J, compute_t<D>>&>(x).of;
  }
  template <std::size_t J, class D>
  KOKKOS_FORCEINLINE_FUNCTION static compute_t<D> of(terms const& x) {
    return static_cast<map_term<J, compute_t<D>> const&>(x).of;
  }
  template <std::size_t J, class D>
  KOKKOS_FORCEINLINE_FUNCTION void put_pack(D* d, terms const (&x)[width], index at, index left, bool whole) const {
    if constexpr (is_floating<D>)
      if (d != nullptr) {
        pack<D, width> y;
        for (int k = 0; k < width; ++k) y.x[k] = convert<D>(of<J, D>(x[k]));
        store_pack<width>(d + at, where.inner_stride(0), left, whole, y);
      }
  }
  template <std::size_t J, class D>
  KOKKOS_FORCEINLINE_FUNCTION void add_one_up(terms (&sums)[width], terms const (&x)[width]) const {
    if constexpr (is_floating<D>)
      if (row_sums[J] != nullptr)
        for (int k = 0; k < width; ++k) of<J, D>(sums[k]) += of<J, D>(x[k]);
  }
  template <std::size_t J, class D>
  KOKKOS_FORCEINLINE_FUNCTION void put_sum(terms const (&sums)[width], index at, index left) const {
    if constexpr (is_floating<D>)
      if (auto* const to = static_cast<compute_t<D>*>(row_sums[J]); to != nullptr)
        for (int k = 0; k < width; ++k)
          if (k < left) to[at + k] = of<J, D>(sums[k]);
  }
#endif

  // A single gradient is computed right where it is stored.
  template <std::size_t J, class D>
  void chunk_of_operand(chunk_sink<D>& sink, D* d, index at, index from, index m, R const* g, T const*... x) const {
    if constexpr (is_floating<D>) {
      if (d == nullptr) return;
      index const stride = where.inner_stride(0);
      compute<J>(f, m, sink.get(d + at, stride, from), g, x...);
      sink.put(d + at, stride, from, m);
    }
  }
  template <std::size_t J, class D>
  static void compute(F f, index m, D* d, R const* g, T const*... x) {
    MTF_SIMD
    for (index j = 0; j < m; ++j) d[j] = convert<D>(term<J, D>(f, load(g[j]), load(x[j])...));
  }

  // Several gradients, or sums over rows, are computed in one loop, so that what their derivatives share is computed
  // once. For that all of an element's are computed before the first is stored: a store might change x, for all that
  // the compiler knows.
  [[nodiscard]] bool several() const {
    return ((dx[I] != nullptr ? 1 : 0) + ...) + 2 * ((row_sums[I] != nullptr ? 1 : 0) + ...) > 1;
  }
  static void compute_all(F f, index m, R const* g, T const*... x, compute_t<T>*... terms) {
    MTF_SIMD
    for (index j = 0; j < m; ++j)
      [&](auto... term) MTF_INLINE_LAMBDA { ((terms[j] = term), ...); }(term<I, T>(f, load(g[j]), load(x[j])...)...);
  }
  template <std::size_t J, class D>
  void deliver(chunk_result<D>& result, index at, index from, index m, index sum_at) const {
    if constexpr (is_floating<D>) {
      compute_t<D> const* const terms = result.terms;
      if (D* const d = static_cast<D*>(dx[J]); d != nullptr) {
        index const stride = where.inner_stride(0);
        D* const to = result.sink.get(d + at, stride, from);
        MTF_SIMD
        for (index j = 0; j < m; ++j) to[j] = convert<D>(terms[j]);
        result.sink.put(d + at, stride, from, m);
      }
      if (auto* const sum = static_cast<compute_t<D>*>(row_sums[J]); sum != nullptr) {
        compute_t<D>* const to = sum + sum_at;
        MTF_SIMD
        for (index j = 0; j < m; ++j) to[j] += terms[j];
      }
    }
  }
  template <std::size_t J, class D>
  void clear(index at, index count) const {
    if constexpr (is_floating<D>)
      if (row_sums[J] != nullptr) std::fill_n(static_cast<compute_t<D>*>(row_sums[J]) + at, count, compute_t<D>(0));
  }
};

/// out = f(in...); operands (out, in...).
template <class Exec, class F, class R, class... T>
void map(device<Exec>& on, F f, loops<1 + static_cast<int>(sizeof...(T))> const& l, R* out, T const*... in) {
  using kernel = map_kernel<std::index_sequence_for<T...>, F, R, T...>;
  launch_nest("mtf::map", on.exec, kernel{nest_of(l), l.size(), f, out, {in...}});
}

#if MTF_HAS_DEVICES
/// A map's backward pass on a device of blocks of rows: a thread takes a few neighbouring columns of a block, and keeps
/// their sums in registers.
template <class Kernel>
struct map_vjp_columns {
  static constexpr int width = Kernel::width;
  Kernel kernel;
  index inner, rows, of_block;
  bool whole;

  KOKKOS_FUNCTION void operator()(index item) const {
    index const groups = (inner + width - 1) / width, group = item % groups, block = item / groups;
    index const first = group * width, left = inner - first;
    index const begin = block * of_block, end = begin + of_block < rows ? begin + of_block : rows;
    typename Kernel::terms sums[width] = {};
    for (index r = begin; r < end; ++r) {
      index at[Kernel::operands];
      kernel.where.template locate<width>(r * groups + group, at);
      typename Kernel::terms x[width];
      kernel.gradients(x, at, left, whole);
      kernel.add_to_sums(sums, x);
    }
    kernel.put_sums(sums, block * inner + first, left);
  }
};
#endif

/// A map's backward pass with sums over rows: each block of rows adds up its own.
template <class Exec, std::size_t... I, class F, class R, class... T>
void map_vjp_with_rows(device<Exec>& on, map_vjp_kernel<std::index_sequence<I...>, F, R, T...> k,
                       std::array<map_gradient, sizeof...(T)> const& dx) {
  using kernel = decltype(k);
  constexpr bool host = runs_on_host<Exec>;
  index const n = k.where.l.extent[static_cast<std::size_t>(k.where.l.ndim - 1)], all_rows = k.n / n;
  index of_block = 0;
  if constexpr (host)
    of_block = std::min(rows_added_up, ceil_div(all_rows, std::clamp<index>(all_rows / 8, 1, 64)));
  else  // enough threads for a device, and sums that are few beside what they are of
    of_block = std::clamp<index>(ceil_div(all_rows * ceil_div(n, kernel::width), 131072), 8, rows_added_up);
  index const blocks = ceil_div(all_rows, of_block);
  auto const each = [&](auto const& f) {
    auto const one = [&]<class Ti>(std::size_t i, Ti const*) {
      if constexpr (is_floating<Ti>)
        if (dx[i].row && dx[i].at != nullptr) f(i, static_cast<Ti*>(dx[i].at), static_cast<compute_t<Ti>*>(nullptr));
    };
    (one(I, static_cast<T const*>(nullptr)), ...);
  };
  index bytes = 0;
  std::array<index, sizeof...(T)> begin{};
  each([&]<class Number>(std::size_t i, auto*, Number*) {
    begin[i] = bytes;
    bytes += ceil_div(blocks * n * static_cast<index>(sizeof(Number)), 64) * 64;
  });
  workspace<std::byte, Exec> const sums(on, bytes);
  each([&](std::size_t i, auto*, auto*) { k.row_sums[i] = sums.get() + begin[i]; });
  if constexpr (host) {
    k.block_elements = of_block * n;
    launch_on_host("mtf::map_vjp", on.exec, blocks, k.n, by_block<kernel>{k});
  }
#if MTF_HAS_DEVICES
  else {
    map_vjp_columns<kernel> const all{k, n, all_rows, of_block, k.has_packs()};
    Kokkos::parallel_for("mtf::map_vjp", range_policy<Exec>(on.exec, 0, blocks * ceil_div(n, kernel::width)), all);
  }
#endif
  each([&]<class Number>(std::size_t i, auto* to, Number*) {
    add_rows_up(on, blocks, n, n, to, reinterpret_cast<Number const*>(sums.get() + begin[i]));
  });
}

/// dx_i = dy * (derivative of f in its i-th argument), where it is wanted.
template <class Exec, class F, class R, class... T>
void map_vjp(device<Exec>& on, F f, loops<1 + static_cast<int>(sizeof...(T))> const& l,
             std::array<map_gradient, sizeof...(T)> const& dx, R const* dy, T const*... in) {
  if (l.size() == 0) return;
  using kernel = map_vjp_kernel<std::index_sequence_for<T...>, F, R, T...>;
  kernel k{nest_of(l), l.size(), f, dy, {}, {in...}};
  bool rows = false;
  for (std::size_t i = 0; i < sizeof...(T); ++i) {
    if (!dx[i].row) k.dx[i] = dx[i].at;
    rows = rows || (dx[i].row && dx[i].at != nullptr);
  }
  if (rows)
    map_vjp_with_rows(on, k, dx);
  else
    launch_nest("mtf::map_vjp", on.exec, k);
}

template <class Exec, class F, class R, class... T>
void compute(device<Exec>& on, primitives::map<F, R, T...> const& p) {
  std::apply([&](T const*... in) { map(on, p.f, p.of, p.out, in...); }, p.in);
}
template <class Exec, class F, class R, class... T>
void compute(device<Exec>& on, primitives::map_vjp<F, R, T...> const& p) {
  std::apply([&](T const*... in) { map_vjp(on, p.f, p.of, p.dx, p.dy, in...); }, p.in);
}

}  // namespace mtf::kokkos
