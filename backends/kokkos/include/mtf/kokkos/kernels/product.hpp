#pragma once
// Products over any loops, and their derivatives. A piece of work is a strip of neighbouring results and a slice of
// their terms; slices are split by sizes alone and not by the number of threads, so that results do not depend on it.
#include <algorithm>
#include <type_traits>

#include <mtf/backend/primitives/product.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/launch/nest.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>

namespace mtf::kokkos {

/// Products of terms x, in pieces of `Width` results. On the host a piece is a cache line of x, if results are
/// contiguous in x.
template <class T, index Width>
struct product_pieces {
  using A = compute_t<T>;
  nest<2> kept;
  nest<1> reduced;
  T const* x;
  index results, terms, inner, strips, pieces, slices, slice_terms;  // inner: of the innermost kept loop

  struct piece {
    index width, slice, begin, end, result, x;  // results of the strip, terms of the slice; where the first ones lie
  };
  KOKKOS_FORCEINLINE_FUNCTION piece find(index item) const {
    index const strip = item % pieces, slice = item / pieces;
    index const column = strip % strips * Width, end = (slice + 1) * slice_terms;
    index at[2];
    kept.locate(strip / strips * inner + column, at);
    return {inner - column < Width ? inner - column : Width,
            slice,
            slice * slice_terms,
            end < terms ? end : terms,
            at[0],
            at[1]};
  }
  /// Where term j of the strip's first result lies in x.
  KOKKOS_FORCEINLINE_FUNCTION index term(piece const& p, index j) const {
    index offset[1];
    reduced.locate(j, offset);
    return p.x + offset[0];
  }
};

template <index Width, class Exec, class T>
product_pieces<T, Width> product_pieces_of(reduction const& r, T const* x) {
  constexpr index most = runs_on_host<Exec> ? 64 : 4096, least_terms = 64;
  product_pieces<T, Width> p{};
  p.kept = {ordered_by(1, r.kept)};
  p.reduced = {ordered_by(0, r.reduced)};
  p.x = x;
  p.results = r.kept.size();
  p.terms = r.reduced.size();
  p.inner = p.kept.l.extent[static_cast<std::size_t>(p.kept.l.ndim - 1)];
  p.strips = ceil_div(p.inner, Width);
  p.pieces = p.results / p.inner * p.strips;
  p.slice_terms = ceil_div(p.terms, std::max<index>(std::min(most / p.pieces, p.terms / least_terms), 1));
  p.slices = ceil_div(p.terms, p.slice_terms);
  return p;
}

template <class Exec, class Body>
void for_pieces(char const* label, Exec const& exec, Body const& body) {
  index const items = body.of.pieces * body.of.slices;
  if constexpr (runs_on_host<Exec>)
    launch_on_host(label, exec, items, body.of.results * body.of.terms, body);
  else
    Kokkos::parallel_for(label, range_policy<Exec>(exec, 0, items), body);
}

/// The product of each slice: [slices, results].
template <class T, index Width>
struct product_of_slices {
  using A = compute_t<T>;
  product_pieces<T, Width> of;
  A* out;

  KOKKOS_FUNCTION void operator()(index item) const {
    auto const p = of.find(item);
    index const stride = of.kept.inner_stride(1), out_stride = of.kept.inner_stride(0);
    A product[Width];
    for (A& one : product) one = 1;
    for (index j = p.begin; j < p.end; ++j) {
      T const* const x = of.x + of.term(p, j);
      MTF_SIMD
      for (index c = 0; c < p.width; ++c) product[c] *= load(x[c * stride]);
    }
    A* const to = out + p.slice * of.results + p.result;
    for (index c = 0; c < p.width; ++c) to[c * out_stride] = product[c];
  }
};

/// A term's gradient needs the product of the terms before it, taken from a slice's first term on, and of those after
/// it, taken from the last one back.
template <class T, index Width>
struct product_vjp_body {
  using A = compute_t<T>;
  product_pieces<T, Width> of;
  T* dx;
  T const* dy;
  A const* others;
  A const* slices;  // the product of each slice, if there are several
  A* before;        // as x: the product of the slice's terms before each; may be dx

  KOKKOS_FUNCTION void operator()(index item) const {
    auto const p = of.find(item);
    index const stride = of.kept.inner_stride(1), out_stride = of.kept.inner_stride(0);
    A product[Width], rest[Width] = {};
    for (A& one : product) one = 1;
    for (index j = p.begin; j < p.end; ++j) {
      index const at = of.term(p, j);
      MTF_SIMD
      for (index c = 0; c < p.width; ++c) {
        index const i = at + c * stride;
        before[i] = product[c];
        product[c] *= load(of.x[i]);
      }
    }
    for (index c = 0; c < p.width; ++c) {
      index const result = p.result + c * out_stride;
      product[c] = 1;
      rest[c] = others[result];
      for (index s = 0; s < of.slices; ++s)
        if (s != p.slice) rest[c] *= slices[s * of.results + result];
      rest[c] *= load(dy[result]);
    }
    for (index j = p.end; j-- > p.begin;) {
      index const at = of.term(p, j);
      MTF_SIMD
      for (index c = 0; c < p.width; ++c) {
        index const i = at + c * stride;
        dx[i] = convert<T>(before[i] * product[c] * rest[c]);
        product[c] *= load(of.x[i]);
      }
    }
  }
};

template <class T>
struct join_products_body {
  using A = compute_t<T>;
  primitives::join_products<T> p;

  KOKKOS_FUNCTION void operator()(index j) const {
    A all = 1, others = 1;
    for (index r = 0; r < p.ranks; ++r) {
      A const part = p.parts[r * p.n + j];
      all *= part;
      if (r != p.me) others *= part;
    }
    p.out[j] = convert<T>(all);
    if (p.others != nullptr) p.others[j] = others;
  }
};

template <class Exec, class T>
void compute(device<Exec>& on, primitives::join_products<T> const& p) {
  for_elements(p.name, on.exec, p.n, join_products_body<T>{p});
}

template <index Width, class Exec, class T>
void run_pieces(device<Exec>& on, primitives::product<T> const& p) {
  using A = compute_t<T>;
  auto const of = product_pieces_of<Width, Exec>(p.of, p.in);
  workspace<A, Exec> slices(on, of.slices > 1 ? of.slices * of.results : 0);
  product_of_slices<T, Width> const body{of, of.slices > 1 ? slices.get() : p.out};
  for_pieces(p.name, on.exec, body);
  if (of.slices > 1) compute(on, primitives::join_products<A>{of.results, of.slices, -1, p.out, nullptr, slices.get()});
}
template <index Width, class Exec, class T>
void run_pieces(device<Exec>& on, primitives::product_vjp<T> const& p) {
  using A = compute_t<T>;
  auto const of = product_pieces_of<Width, Exec>(p.of, p.x);
  workspace<A, Exec> slices(on, of.slices > 1 ? of.slices * of.results : 0);
  index span = 1;  // rows may be stored with pads between them
  for (std::size_t d = 0; d < max_dims; ++d) {
    if (static_cast<int>(d) < p.of.kept.ndim) span += (p.of.kept.extent[d] - 1) * p.of.kept.stride[1][d];
    if (static_cast<int>(d) < p.of.reduced.ndim) span += (p.of.reduced.extent[d] - 1) * p.of.reduced.stride[0][d];
  }
  workspace<A, Exec> before(on, std::is_same_v<A, T> ? 0 : span);
  if (of.slices > 1) for_pieces("mtf::product_slices", on.exec, product_of_slices<T, Width>{of, slices.get()});
  product_vjp_body<T, Width> body{of, p.dx, p.dy, p.others, slices.get(), before.get()};
  if constexpr (std::is_same_v<A, T>) body.before = p.dx;
  for_pieces(p.name, on.exec, body);
}
/// On a device each thread has one result.
template <class Exec, class Primitive>
void run_pieces_of(device<Exec>& on, Primitive const& p) {
  if constexpr (runs_on_host<Exec>)
    if (nest<2>{ordered_by(1, p.of.kept)}.inner_stride(1) == 1) return run_pieces<16>(on, p);
  run_pieces<1>(on, p);
}

template <class Exec, class T>
void compute(device<Exec>& on, primitives::product<T> const& p) {
  run_pieces_of(on, p);
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::product_vjp<T> const& p) {
  run_pieces_of(on, p);
}

MTF_COMPILED(device, product)
MTF_COMPILED(device, join_products)
MTF_COMPILED(device, product_vjp)

}  // namespace mtf::kokkos
