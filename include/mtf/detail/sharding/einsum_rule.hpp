#pragma once
// One contraction of two tensors: what is partial in its result, and how the shards become (batched, strided) matrix
// products with as few copies as possible.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/backend/work.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/finding.hpp>
#include <mtf/detail/sharding/operand_rule.hpp>

namespace mtf::detail {

/// out = sum over dimensions that out lacks of a * b.
struct einsum_rule {
  finding wrong;
  sharding out;
  std::array<axis_mask, 2> complete{};
};

constexpr einsum_rule derive_einsum(sharding const& a, sharding const& b, sharding const& wanted) {
  auto const m = merge_operands<2>({a, b}, linearity::multiplicative);
  einsum_rule r{.wrong = m.wrong, .out = wanted, .complete = m.complete};
  r.out.partial = m.together.partial;
  for (int d = 0; d < m.together.ndim; ++d)
    if (!wanted.has(m.together[d].id)) r.out.partial |= m.together[d].split.mask();
  return r;
}

/// A contraction on shards, with the copies into another order that it still needs.
struct local_einsum {
  bool copy_a = false, copy_b = false, copy_c = false;
  bool swapped = false;  // the product's left matrix is b, its right one a: c comes out transposed
  loops<2> order_a, order_b, order_c;
  contraction work;
  index size_a = 1, size_b = 1, size_c = 1;
};

class einsum_derivation {
 public:
  constexpr einsum_derivation(mesh_shape const& mesh, sharding const& a, sharding const& b, sharding const& c)
      : mesh_(mesh), a_(a), b_(b), c_(c) {}

  constexpr local_einsum derive() {
    // By the number of copies; among equally many, those that copy the result come last.
    constexpr std::array<unsigned, 8> tries{0, 1, 2, 4, 3, 5, 6, 7};
    local_einsum e;
    for (unsigned const copies : tries)
      for (bool const swapped : {false, true})
        if (attempt(e, copies, swapped)) return e;
    return e;
  }

 private:
  struct term {
    index extent = 1;
    index stride[3] = {};  // in a, b, c
  };
  struct group {
    int size = 0;
    term at[max_dims];
    constexpr void push(term const& t) { at[size++] = t; }
  };

  /// Dense strides for a copy of `s` with its dimensions in three groups: those that are `early`, `middle`, and the
  /// rest; inside a group as in `order`.
  constexpr void dense(sharding const& s, index* stride, bool (einsum_derivation::*early)(std::uint64_t) const,
                       bool (einsum_derivation::*middle)(std::uint64_t) const, sharding const& order) const {
    index n = 1;
    for (int pass = 2; pass >= 0; --pass)
      for (int d = order.ndim - 1; d >= 0; --d) {
        int const at = s.find(order[d].id);
        if (at < 0) continue;
        int const kind = (this->*early)(order[d].id) ? 0 : (this->*middle)(order[d].id) ? 1 : 2;
        if (kind != pass) continue;
        stride[at] = n;
        n *= s.local_extent(at, mesh_);
      }
  }
  constexpr bool is_batch(std::uint64_t id) const { return a_.has(id) && b_.has(id) && c_.has(id); }
  constexpr bool is_m(std::uint64_t id) const { return a_.has(id) && !b_.has(id); }
  constexpr bool is_k(std::uint64_t id) const { return a_.has(id) && b_.has(id) && !c_.has(id); }

  constexpr loops<2> reorder(sharding const& s, index const* stride, bool into_copy) const {
    loops<2> l;
    l.ndim = s.ndim;
    for (int d = 0; d < s.ndim; ++d) {
      auto const at = static_cast<std::size_t>(d);
      l.extent[at] = s.local_extent(d, mesh_);
      l.stride[into_copy ? 0 : 1][at] = stride[at];
      l.stride[into_copy ? 1 : 0][at] = s.local_stride(d, mesh_);
    }
    return collapsed(l);
  }

  /// Is the contraction one batched product, after these copies (bits: a, b, c)? Writes it to e.
  constexpr bool attempt(local_einsum& e, unsigned copies, bool swapped) {
    e = local_einsum{};
    e.copy_a = (copies & 1U) != 0;
    e.copy_b = (copies & 2U) != 0;
    e.copy_c = (copies & 4U) != 0;
    e.swapped = swapped;
    index stride[3][max_dims] = {};
    sharding const* const of[3] = {&a_, &b_, &c_};
    index size[3] = {1, 1, 1};
    for (int o = 0; o < 3; ++o)
      for (int d = of[o]->ndim - 1; d >= 0; --d) {
        stride[o][d] = size[o];
        size[o] *= of[o]->local_extent(d, mesh_);
      }
    e.size_a = size[0];
    e.size_b = size[1];
    e.size_c = size[2];
    // Copies are in canonical order: batch, m, k; batch, k, n; batch, m, n, each group in the order of c, or of a for
    // k.
    sharding order = c_;
    for (int d = 0; d < a_.ndim; ++d)
      if (!order.has(a_[d].id) && order.ndim < max_dims) order.push(a_[d]);
    if (e.copy_a) dense(a_, stride[0], &einsum_derivation::is_batch, &einsum_derivation::is_m, order);
    if (e.copy_b) dense(b_, stride[1], &einsum_derivation::is_batch, &einsum_derivation::is_k, order);
    if (e.copy_c) dense(c_, stride[2], &einsum_derivation::is_batch, &einsum_derivation::is_m, order);
    if (e.copy_a) e.order_a = reorder(a_, stride[0], true);
    if (e.copy_b) e.order_b = reorder(b_, stride[1], true);
    if (e.copy_c) e.order_c = reorder(c_, stride[2], false);

    group batch, m, n, k;
    auto const term_of = [&](std::uint64_t id) {
      term t;
      for (int o = 0; o < 3; ++o)
        if (int const d = of[o]->find(id); d >= 0) {
          t.extent = of[o]->local_extent(d, mesh_);
          t.stride[o] = stride[o][d];
        }
      return t;
    };
    for (int d = 0; d < c_.ndim; ++d) {
      auto const id = c_[d].id;
      auto const t = term_of(id);
      if (t.extent == 1) continue;
      bool const in_a = a_.has(id), in_b = b_.has(id);
      (in_a && in_b ? batch : in_a ? m : n).push(t);
    }
    for (int d = 0; d < a_.ndim; ++d)
      if (!c_.has(a_[d].id) && a_.local_extent(d, mesh_) > 1) k.push(term_of(a_[d].id));

    merge(batch, 0, 1, 2);
    merge(m, 0, 2, 2);
    merge(n, 1, 2, 2);
    merge(k, 0, 1, 1);
    if (k.size > 1) return false;
    // Rows (and columns) that do not merge into one loop: the longest loop stays, the others become batch loops.
    spill(m, batch);
    spill(n, batch);
    if (batch.size > 5) return false;
    auto& w = e.work;
    term const tm = m.size > 0 ? m.at[0] : term{}, tn = n.size > 0 ? n.at[0] : term{},
               tk = k.size > 0 ? k.at[0] : term{};
    int const A = swapped ? 1 : 0, B = swapped ? 0 : 1;
    term const rows = swapped ? tn : tm, columns = swapped ? tm : tn;
    w.m = rows.extent;
    w.n = columns.extent;
    w.k = tk.extent;
    w.a_m = rows.stride[A];
    w.a_k = tk.stride[A];
    w.b_k = tk.stride[B];
    w.b_n = columns.stride[B];
    w.c_m = rows.stride[2];
    w.c_n = columns.stride[2];
    w.batch.ndim = batch.size;
    for (int i = 0; i < batch.size; ++i) {
      auto const at = static_cast<std::size_t>(i);
      w.batch.extent[at] = batch.at[i].extent;
      w.batch.stride[0][at] = batch.at[i].stride[A];
      w.batch.stride[1][at] = batch.at[i].stride[B];
      w.batch.stride[2][at] = batch.at[i].stride[2];
    }
    return fits(w.m, w.a_m, w.k, w.a_k) && fits(w.k, w.b_k, w.n, w.b_n) && (w.n == 1 || w.c_n == 1);
  }
  /// A matrix that libraries take: one of its two strides is 1.
  static constexpr bool fits(index n1, index s1, index n2, index s2) {
    return n1 == 1 || n2 == 1 || s1 == 1 || s2 == 1;
  }

  /// Merges neighbouring loops where the strides of operands o1, o2 and o3 allow it.
  static constexpr void merge(group& g, int o1, int o2, int o3) {
    if (g.size < 2) return;
    group out;
    for (int i = 0; i < g.size; ++i) {
      term const& t = g.at[i];
      if (out.size > 0) {
        term& last = out.at[out.size - 1];
        auto const follows = [&](int o) { return last.stride[o] == t.stride[o] * t.extent; };
        if (follows(o1) && follows(o2) && follows(o3)) {
          last.extent *= t.extent;
          for (int o = 0; o < 3; ++o) last.stride[o] = t.stride[o];
          continue;
        }
      }
      out.push(t);
    }
    g = out;
  }
  static constexpr void spill(group& g, group& batch) {
    while (g.size > 1) {
      int least = 0;
      for (int i = 1; i < g.size; ++i)
        if (g.at[i].extent < g.at[least].extent) least = i;
      batch.push(g.at[least]);
      for (int i = least; i + 1 < g.size; ++i) g.at[i] = g.at[i + 1];
      --g.size;
    }
  }

  mesh_shape mesh_;
  sharding a_, b_, c_;
};

constexpr local_einsum derive_local_einsum(mesh_shape const& mesh, sharding const& a, sharding const& b,
                                           sharding const& c) {
  return einsum_derivation(mesh, a, b, c).derive();
}

}  // namespace mtf::detail
