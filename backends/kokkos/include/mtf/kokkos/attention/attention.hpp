#pragma once
// Attention. On the host in blocks (blocks.hpp). On devices through the vendor's products and the row
// kernels, with the scores of the whole batch as a workspace, computed again for the backward pass.
#include <mtf/backend/primitives/attention.hpp>
#include <mtf/kokkos/gemm/contract.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
#include <mtf/kokkos/attention/blocks.hpp>
#include <mtf/kokkos/attention/pairs.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#endif

namespace mtf::kokkos {

/// The products that attention is made of, for the whole batch. Scores lie dense, [batch, query, key].
struct attention_products {
  attention_shape of;

  [[nodiscard]] index rows() const { return of.batch.size() * of.queries; }
  [[nodiscard]] visible_rows seen() const {
    return {.seen = of.seen, .queries = of.queries, .lengths = of.lengths, .rows_a_length = of.queries};
  }
  /// Batch loops of a product. Its operands are given as 0, 1, 2 (strides of q, k, v) or 3 (scores).
  [[nodiscard]] loops<3> batch(std::array<std::size_t, 3> const& operand) const {
    loops<3> l{.ndim = of.batch.ndim, .extent = of.batch.extent, .stride = {}};
    index dense = of.queries * of.keys;
    for (int d = l.ndim - 1; d >= 0; --d) {
      auto const at = static_cast<std::size_t>(d);
      for (std::size_t o = 0; o < 3; ++o) l.stride[o][at] = operand[o] < 3 ? of.batch.stride[operand[o]][at] : dense;
      dense *= l.extent[at];
    }
    return l;
  }
  [[nodiscard]] index row(std::size_t operand) const {
    return operand == 0 ? of.q_row : operand == 1 ? of.k_row : of.v_row;
  }
  /// scores = a b^T: of queries and keys, or of the result's gradient and values.
  [[nodiscard]] contraction scores(std::size_t b) const {
    return {.batch = batch({0, b, 3}),
            .m = of.queries,
            .n = of.keys,
            .k = of.head,
            .a_m = of.q_row,
            .a_k = 1,
            .b_k = 1,
            .b_n = row(b),
            .c_m = of.keys,
            .c_n = 1};
  }
  /// scores b; the result has q's strides.
  [[nodiscard]] contraction weighted(std::size_t b) const {
    return {.batch = batch({3, b, 0}),
            .m = of.queries,
            .n = of.head,
            .k = of.keys,
            .a_m = of.keys,
            .a_k = 1,
            .b_k = row(b),
            .b_n = 1,
            .c_m = of.q_row,
            .c_n = 1};
  }
  /// scores^T b, where b has q's strides and the result those of operand c.
  [[nodiscard]] contraction transposed_weighted(std::size_t c) const {
    return {.batch = batch({3, 0, c}),
            .m = of.keys,
            .n = of.head,
            .k = of.queries,
            .a_m = 1,
            .a_k = of.keys,
            .b_k = of.q_row,
            .b_n = 1,
            .c_m = row(c),
            .c_n = 1};
  }
};

/// p = softmax(scale * q k^T), 0 where a query does not see a key.
template <class Exec, class T, class A>
void attention_weights(resources<Exec>& on, attention_products const& w, A scale, T* p, T const* q, T const* k) {
  using body = rows_body<softmax_row<T>, T, 1>;
  on.products.contract(on, w.scores(1), q, k, p, false);
  for_rows("mtf::attention", on.exec, w.rows(), w.of.keys, body{{scale, w.seen()}, p, {w.of.keys, {p}}});
}

/// max and sum are written on the host only.
template <class Exec, class T>
void compute(resources<Exec>& on, primitives::attention<T> const& x) {
  if constexpr (runs_on_host<Exec>) {
    auto const with = [&](auto const& tasks) { do_attention_tasks(x.name, on, tasks); };
    index const workers = on.exec.concurrency();
#if MTF_PAIR_PRODUCTS
    if constexpr (std::is_same_v<T, bfloat16>)
      if (auto const unit = fastest_pair_unit(); unit != pair_unit::none)
        return with(attention_forward_in_pairs(unit, x.of, x.scale, workers, x.out, x.max, x.sum, x.q, x.k, x.v));
#endif
    with(attention_forward_in_blocks<T>(x.of, x.scale, workers, x.out, x.max, x.sum, x.q, x.k, x.v));
  } else {
    attention_products const w{x.of};
    workspace<T, Exec> const p(on, w.rows() * x.of.keys);
    attention_weights(on, w, x.scale, p.get(), x.q, x.k);
    on.products.contract(on, w.weighted(2), static_cast<T const*>(p.get()), x.v, x.out, false);
  }
}

template <class Exec, class T>
void compute(resources<Exec>& on, primitives::attention_vjp<T> const& x) {
  if constexpr (runs_on_host<Exec>) {
    auto const with = [&](auto const& tasks) { do_attention_vjp(on, tasks); };
    index const workers = on.exec.concurrency();
#if MTF_PAIR_PRODUCTS
    if constexpr (std::is_same_v<T, bfloat16>)
      if (auto const unit = fastest_pair_unit(); unit != pair_unit::none)
        return with(attention_backward_in_pairs(unit, x.of, x.scale, workers, x.dq, x.dk, x.dv, x.q, x.k, x.v, x.out,
                                                x.max, x.sum, x.dout));
#endif
    with(attention_backward_in_blocks<T>(x.of, x.scale, workers, x.dq, x.dk, x.dv, x.q, x.k, x.v, x.out, x.max, x.sum,
                                         x.dout));
  } else {
    using body = rows_body<softmax_vjp_row<T>, T, 2>;
    attention_products const w{x.of};
    workspace<T, Exec> const weights(on, w.rows() * x.of.keys), gradient(on, w.rows() * x.of.keys);
    T *const p = weights.get(), *const g = gradient.get();
    attention_weights(on, w, x.scale, p, x.q, x.k);
    on.products.contract(on, w.transposed_weighted(2), static_cast<T const*>(p), x.dout, x.dv, false);
    on.products.contract(on, w.scores(2), x.dout, x.v, g, false);
    for_rows("mtf::attention_vjp", on.exec, w.rows(), x.of.keys,
             body{{x.scale, nullptr, w.seen()}, g, {x.of.keys, {p, g}}});
    on.products.contract(on, w.weighted(1), static_cast<T const*>(g), x.k, x.dq, false);
    on.products.contract(on, w.transposed_weighted(1), static_cast<T const*>(g), x.q, x.dk, false);
  }
}

MTF_COMPILED(resources, attention)
MTF_COMPILED(resources, attention_vjp)

}  // namespace mtf::kokkos
