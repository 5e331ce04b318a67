#pragma once
// Pointwise operations with broadcasting: out = f(in...), and the backward pass that calls f on dual numbers.
// On the host, innermost loops run over contiguous memory only: operands that are broadcast or strided there pass
// through a small buffer. So there is one compute loop for each f, and it vectorizes.
#include <array>
#include <tuple>
#include <utility>

#include <mtf/detail/dual.hpp>
#include <mtf/kokkos/nest.hpp>

namespace mtf::detail {

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

/// Writes contiguous results of a host map to a strided run.
template <class T>
struct chunk_sink {
  alignas(64) T buffer[map_chunk];

  T* get(T* run, index stride, index from) { return stride == 1 ? run + from : buffer; }
  void put(T* run, index stride, index from, index n) {
    if (stride != 1)
      for (index j = 0; j < n; ++j) run[(from + j) * stride] = buffer[j];
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

  /// One element: what a device thread does.
  KOKKOS_FUNCTION void element(index i) const {
    index at[operands];
    where.locate(i, at);
    out[at[0]] = convert<R>(f(load(static_cast<T const*>(in[I])[at[I + 1]])...));
  }

  /// One block of elements: what a host thread does.
  void block(index b) const {
    chunk_sink<R> result;
    std::tuple<chunk_source<T>...> operand;
    bool const direct = where.contiguous();
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

  KOKKOS_FUNCTION void element(index i) const {
    index at[operands];
    where.locate(i, at);
    auto const g = load(dy[at[0]]);
    (element_of_operand<I>(static_cast<T*>(dx[I]), at[0], g, load(static_cast<T const*>(in[I])[at[I + 1]])...), ...);
  }

  void block(index b) const {
    chunk_source<R> gradient;
    std::tuple<chunk_source<T>...> operand;
    std::tuple<chunk_sink<T>...> result;
    where.for_runs(b * host_grain, std::min(n, (b + 1) * host_grain), [&](index const(&at)[operands], index length) {
      for (index from = 0; from < length; from += map_chunk) {
        index const m = std::min(map_chunk, length - from);
        R const* g = gradient.get(dy + at[0], where.inner_stride(0), from, m, from == 0);
        std::tuple<T const*...> const x{std::get<I>(operand).get(
            static_cast<T const*>(in[I]) + at[I + 1], where.inner_stride(int(I) + 1), from, m, from == 0)...};
        (chunk_of_operand<I>(std::get<I>(result), static_cast<T*>(dx[I]), at[0], from, m, g, std::get<I>(x)...), ...);
      }
    });
  }

 private:
  template <std::size_t J, class D, class G, class... X>
  KOKKOS_FORCEINLINE_FUNCTION void element_of_operand(D* d, index at, G g, X... x) const {
    if constexpr (is_floating<D>)
      if (d != nullptr) d[at] = convert<D>(static_cast<compute_t<D>>(g) * derivative<J>(f, x...));
  }
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
    for (index j = 0; j < m; ++j)
      d[j] = convert<D>(static_cast<compute_t<D>>(load(g[j])) * derivative<J>(f, load(x[j])...));
  }
};

/// out = f(in...); operands (out, in...).
template <class Exec, class F, class R, class... T>
void map(device<Exec>& on, F f, loops<1 + static_cast<int>(sizeof...(T))> const& l, R* out, T const*... in) {
  using kernel = map_kernel<std::index_sequence_for<T...>, F, R, T...>;
  launch_nest("mtf::map", on.exec, kernel{nest_of(l), l.size(), f, out, {in...}});
}

/// dx_i = dy * (derivative of f in its i-th argument), where dx_i is not null, with the strides of operand 0.
template <class Exec, class F, class R, class... T>
void map_vjp(device<Exec>& on, F f, loops<1 + static_cast<int>(sizeof...(T))> const& l,
             std::array<void*, sizeof...(T)> dx, R const* dy, T const*... in) {
  using kernel = map_vjp_kernel<std::index_sequence_for<T...>, F, R, T...>;
  kernel k{nest_of(l), l.size(), f, dy, {}, {in...}};
  for (std::size_t i = 0; i < sizeof...(T); ++i) k.dx[i] = dx[i];
  launch_nest("mtf::map_vjp", on.exec, k);
}

}  // namespace mtf::detail
