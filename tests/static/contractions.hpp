#pragma once
// Carries out a local contraction as a library would, on numbers, and compares it with the sum that it stands for.
#include <mtf/detail/sharding/einsum_rule.hpp>

#include "shardings.hpp"

namespace by_hand {

using mtf::backend::index;
using mtf::backend::loops;
using mtf::detail::local_einsum;

inline constexpr int most = 32;
struct numbers {
  std::int64_t at[most]{};
};

/// The offset of operand o in iteration i of a loop nest.
template <int N>
constexpr index offset(loops<N> const& l, std::size_t o, index i) {
  index at = 0;
  for (int d = l.ndim - 1; d >= 0; --d) {
    auto const k = static_cast<std::size_t>(d);
    at += i % l.extent[k] * l.stride[o][k];
    i /= l.extent[k];
  }
  return at;
}
constexpr numbers copied(loops<2> const& order, numbers const& in) {
  numbers out;
  for (index i = 0; i < order.size(); ++i) out.at[offset(order, 0, i)] = in.at[offset(order, 1, i)];
  return out;
}

/// What a backend does with a local_einsum.
constexpr numbers carry_out(local_einsum const& e, numbers a, numbers b) {
  if (e.copy_a) a = copied(e.order_a, a);
  if (e.copy_b) b = copied(e.order_b, b);
  numbers const &first = e.swapped ? b : a, &second = e.swapped ? a : b;
  numbers c;
  auto const& w = e.work;
  for (index i = 0; i < w.batch.size(); ++i) {
    index const at_a = offset(w.batch, 0, i), at_b = offset(w.batch, 1, i), at_c = offset(w.batch, 2, i);
    for (index m = 0; m < w.m; ++m)
      for (index n = 0; n < w.n; ++n) {
        std::int64_t sum = 0;
        for (index k = 0; k < w.k; ++k)
          sum += first.at[at_a + m * w.a_m + k * w.a_k] * second.at[at_b + k * w.b_k + n * w.b_n];
        c.at[at_c + m * w.c_m + n * w.c_n] = sum;
      }
  }
  return e.copy_c ? copied(e.order_c, c) : c;
}

/// The dimensions of a, b and c in one loop nest over their shards.
constexpr loops<3> all_loops(mtf::mesh_shape const& mesh, sharding const& a, sharding const& b, sharding const& c) {
  loops<3> l;
  sharding const* const of[] = {&a, &b, &c};
  sharding all;
  for (auto const* s : of)
    for (int d = 0; d < s->ndim; ++d)
      if (!all.has((*s)[d].id)) all.push((*s)[d]);
  l.ndim = all.ndim;
  for (int d = 0; d < all.ndim; ++d) {
    l.extent[static_cast<std::size_t>(d)] = all.local_extent(d, mesh);
    for (std::size_t o = 0; o < 3; ++o)
      if (int const at = of[o]->find(all[d].id); at >= 0)
        l.stride[o][static_cast<std::size_t>(d)] = of[o]->local_stride(at, mesh);
  }
  return l;
}

/// What libraries ask for: one of the two strides of each matrix is 1, and the result's rows are dense.
constexpr bool fits_libraries(mtf::backend::contraction const& w) {
  auto const matrix = [](index n1, index s1, index n2, index s2) { return n1 == 1 || n2 == 1 || s1 == 1 || s2 == 1; };
  return matrix(w.m, w.a_m, w.k, w.a_k) && matrix(w.k, w.b_k, w.n, w.b_n) && (w.n == 1 || w.c_n == 1);
}

constexpr bool copies_nothing(local_einsum const& e) { return !e.copy_a && !e.copy_b && !e.copy_c; }

/// A contraction of shards with what is derived for it, once for several questions.
struct derived {
  mtf::mesh_shape mesh;
  sharding a, b, c;
  local_einsum work = mtf::detail::derive_local_einsum(mesh, a, b, c);
  loops<3> sum = all_loops(mesh, a, b, c);
};

/// The arithmetic is just that of the sum, in a form that libraries take.
constexpr bool well_formed(derived const& d) {
  return fits_libraries(d.work.work) && d.work.work.flops() == 2.0 * static_cast<double>(d.sum.size()) &&
         d.work.size_a == d.a.local_size(d.mesh) && d.work.size_b == d.b.local_size(d.mesh) &&
         d.work.size_c == d.c.local_size(d.mesh);
}

/// The numbers that come out are right; for small shards.
constexpr bool computes(derived const& d) {
  if (d.work.size_a > most || d.work.size_b > most || d.work.size_c > most) return false;
  numbers x, y, sum;
  for (int i = 0; i < most; ++i) {
    x.at[i] = i * 7 % 31 - 11;
    y.at[i] = i * 5 % 29 - 13;
  }
  for (index i = 0; i < d.sum.size(); ++i)
    sum.at[offset(d.sum, 2, i)] += x.at[offset(d.sum, 0, i)] * y.at[offset(d.sum, 1, i)];
  auto const out = carry_out(d.work, x, y);
  for (index i = 0; i < d.work.size_c; ++i)
    if (out.at[i] != sum.at[i]) return false;
  return true;
}

}  // namespace by_hand
