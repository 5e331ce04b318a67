#pragma once
// Attention on devices: through the vendor's products and the row kernels, with the scores of some sequences as a
// workspace (score_blocks.hpp), computed again for the backward pass; or by the vendor's fused kernels, where it has
// them (vendor/fused_attention.hpp).
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include <mtf/backend/primitives/attention.hpp>
#include <mtf/kokkos/attention/score_blocks.hpp>
#include <mtf/kokkos/attention/whole_scores.hpp>
#include <mtf/kokkos/gemm/contract.hpp>
#include <mtf/kokkos/kernels/reduce.hpp>
#include <mtf/kokkos/kernels/softmax.hpp>
#include <mtf/kokkos/launch/row_kernels.hpp>
#include <mtf/kokkos/vendor/fused_attention.hpp>

namespace mtf::kokkos {

template <class Exec, class Body>
void for_scores(char const* label, resources<Exec>& on, index n, Body const& body) {
  // (What is said of elements is long: HIP would put it into constant memory, and wait for the kernel before.)
  Kokkos::parallel_for(label,
                       Kokkos::Experimental::require(range_policy<Exec>(on.exec, 0, n),
                                                     Kokkos::Experimental::WorkItemProperty::HintLightWeight),
                       body);
}

template <class Exec, class T>
void multiply(resources<Exec>& on, product_at const& p, T const* a, T const* b, T* c) {
  on.products.contract(on, p.what, a + p.a, b + p.b, c + p.c, false);
}
/// A product in blocks, of queries with the keys that they see, or of keys with the queries that see them.
template <class F>
void for_blocks_of_queries(attention_shape const& of, F const& f) {
  score_blocks const blocks(of);
  for (index b = 0; b < blocks.of_queries(); ++b) f(blocks.rows(b));
}
template <class F>
void for_blocks_of_keys(attention_shape const& of, F const& f) {
  score_blocks const blocks(of);
  for (index b = 0; b < blocks.of_keys(); ++b) f(blocks.columns(b));
}

/// The scores, as far as they are more than products also times `scale`.
template <class Exec, class T, class A>
void attention_scores_of(resources<Exec>& on, attention_products const& w, A scale, T* p, T const* q, T const* k,
                         T const* bias) {
  for_blocks_of_queries(w.of, [&](score_block const& in) { multiply(on, w.scores(of_k, in), q, k, p); });
  if (w.of.has_more())
    for_scores("mtf::attention, scores", on, w.rows() * w.of.keys,
               attention_scores<T>{attention_elements<T>(w.of, scale, bias), p});
}
/// What they are still to be multiplied by.
template <class A>
A left_of_scale(attention_products const& w, A scale) {
  return w.of.has_more() ? A(1) : scale;
}

/// p = the softmax of the scores, which it has, 0 where a query does not see a key; before dropout. max and sum: of
/// rows of which these keys are a part; null: of these.
template <class Exec, class T, class A>
void attention_weights_of(resources<Exec>& on, attention_products const& w, A scale, T* p, T const* bias, A const* max,
                          A const* sum) {
  using body = rows_body<softmax_row<T>, T, 1>;
  for_rows("mtf::attention", on.exec, w.rows(), w.of.keys,
           body{{left_of_scale(w, scale), w.seen(), max, sum}, p, {w.of.keys, {p}}});
  if (w.of.query_ids != nullptr)
    for_scores("mtf::attention, ids", on, w.rows() * w.of.keys,
               attention_own_weights<T>{attention_elements<T>(w.of, scale, bias), p});
}
template <class Exec, class T, class A>
void attention_weights(resources<Exec>& on, attention_products const& w, A scale, T* p, T const* q, T const* k,
                       T const* bias, A const* max = nullptr, A const* sum = nullptr) {
  attention_scores_of(on, w, scale, p, q, k, bias);
  attention_weights_of(on, w, scale, p, bias, max, sum);
}

/// g = the gradient of the scores, of which p are the weights before dropout. `dot`: as attention_vjp has it.
template <class Exec, class T, class A>
void attention_score_gradients(resources<Exec>& on, attention_products const& w, A scale, T* g, T const* p,
                               T const* dout, T const* v, A const* dot = nullptr) {
  using body = rows_body<softmax_vjp_row<T>, T, 2>;
  for_blocks_of_queries(w.of, [&](score_block const& in) { multiply(on, w.scores(of_v, in), dout, v, g); });
  if (w.of.dropped != 0)
    for_scores("mtf::attention_vjp, dropout", on, w.rows() * w.of.keys,
               attention_dropped<T>{{w.of, scale, nullptr}, g, g});
  for_rows("mtf::attention_vjp", on.exec, w.rows(), w.of.keys,
           body{{left_of_scale(w, scale), dot, w.seen()}, g, {w.of.keys, {p, g}}});
}

#if defined(MTF_CUDNN)
/// The form in which the vendor's kernels have it, if they do. Both passes are asked for the same: the statistics that
/// the one writes the other reads.
template <class T>
std::optional<fused_shape> fused_form(resources<Kokkos::Cuda>& on, attention_shape const& of, double scale,
                                      std::initializer_list<T const*> operands) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    for (auto const* const x : operands)
      if (reinterpret_cast<std::uintptr_t>(x) % 16 != 0) return {};
    if (auto const form = fused_shape_of(of, scale); form && on.fused.has(*form)) return form;
  }
  return {};
}
#endif

/// An operand of a part; null stays null.
template <class T>
T* operand_of(attention_part const& part, attention_operand o, T* x) {
  return x == nullptr ? nullptr : x + part.at[o];
}
/// Numbers of which each query has one.
template <class A>
A* numbers_of(attention_part const& part, A* x) {
  return x == nullptr ? nullptr : x + part.sequence * part.of.queries;
}

template <class Exec, class T>
void attend(resources<Exec>& on, attention_part const& part, primitives::attention<T> const& x) {
  attention_products const w{part.of};
  index const n = w.rows() * part.of.keys;
  workspace<T, Exec> const weights(on, n);
  T* const p = weights.get();
  auto* const max = x.of_some ? numbers_of(part, x.max) : nullptr;
  auto* const sum = x.of_some ? numbers_of(part, x.sum) : nullptr;
  auto const* const bias = operand_of(part, of_bias, x.bias);
  attention_scores_of(on, w, x.scale, p, operand_of(part, of_q, x.q), operand_of(part, of_k, x.k), bias);
  if (x.of_some) {
    rows const scores{.outer = w.rows(), .n = part.of.keys};
    auto const scale = left_of_scale(w, x.scale);
    compute(on, primitives::row_max<T>{scores, scale, max, p, w.seen()});
    compute(on, primitives::row_exp_sum<T>{scores, scale, w.seen(), max, sum, p});
  }
  attention_weights_of<Exec, T, compute_t<T>>(on, w, x.scale, p, bias, max, sum);
  if (part.of.dropped != 0)
    for_scores("mtf::attention, dropout", on, n, attention_dropped<T>{{part.of, x.scale, nullptr}, p, p});
  for_blocks_of_queries(part.of, [&](score_block const& in) {
    multiply(on, w.weighted(of_v, in), static_cast<T const*>(p), operand_of(part, of_v, x.v),
             operand_of(part, of_out, x.out));
  });
}

template <class Exec, class T>
void attend_backward(resources<Exec>& on, attention_part const& part, primitives::attention_vjp<T> const& x) {
  attention_products const w{part.of};
  index const n = w.rows() * part.of.keys;
  // Where queries' heads share keys, each has a gradient of its own first.
  auto const to_keys = [&](attention_operand operand, index width, T const* scores, T const* b, T* to) {
    bool const shared = w.shares_keys();
    workspace<T, Exec> const apart(on, shared ? part.of.batch.size() * part.of.keys * width : 0);
    for_blocks_of_keys(part.of, [&](score_block const& in) {
      multiply(on, shared ? w.apart(operand, in) : w.transposed_weighted(operand, in), scores, b,
               shared ? apart.get() : to);
    });
    if (shared) compute(on, primitives::reduce<T>{combine::sum, w.joined(operand), to, apart.get()});
  };
  auto const *const q = operand_of(part, of_q, x.q), *const k = operand_of(part, of_k, x.k);
  auto const *const v = operand_of(part, of_v, x.v), *const dout = operand_of(part, of_out, x.dout);
  bool const drops = part.of.dropped != 0, more = part.of.has_more(), some = x.dot != nullptr;
  workspace<T, Exec> const weights(on, n), gradient(on, n), further(on, more ? n : 0);
  T *const p = weights.get(), *const g = gradient.get(), *const f = further.get();
  attention_weights<Exec, T, compute_t<T>>(on, w, x.scale, p, q, k, operand_of(part, of_bias, x.bias),
                                           some ? numbers_of(part, x.max) : nullptr,
                                           some ? numbers_of(part, x.sum) : nullptr);
  if (drops) for_scores("mtf::attention_vjp, dropout", on, n, attention_dropped<T>{{part.of, x.scale, nullptr}, f, p});
  to_keys(of_v, part.of.values, drops ? f : p, dout, operand_of(part, of_v, x.dv));
  attention_score_gradients(on, w, x.scale, g, static_cast<T const*>(p), dout, v, numbers_of(part, x.dot));
  if (more) {
    for_blocks_of_queries(part.of, [&](score_block const& in) { multiply(on, w.scores(of_k, in), q, k, f); });
    for_scores("mtf::attention_vjp, slopes", on, n, attention_slopes<T>{{part.of, x.scale, nullptr}, g, f});
  }
  for_blocks_of_queries(part.of, [&](score_block const& in) {
    multiply(on, w.weighted(of_k, in), static_cast<T const*>(g), k, operand_of(part, of_q, x.dq));
  });
  to_keys(of_k, part.of.head, g, q, operand_of(part, of_k, x.dk));
}

/// The primitives.
template <class Exec, class T>
void attention_on_device(resources<Exec>& on, primitives::attention<T> const& x) {
#if defined(MTF_CUDNN)
  if (!x.of_some)
    if (auto const form = fused_form<T>(on, x.of, static_cast<double>(x.scale), {x.q, x.k, x.v, x.out})) {
      Kokkos::Profiling::ScopedRegion const region("mtf::attention, cuDNN");
      workspace<std::byte, Exec> const memory(on, static_cast<index>(on.fused.forward_bytes(*form)));
      return on.fused.forward(on.exec.cuda_stream(), *form, x.out, reinterpret_cast<float*>(x.max), x.q, x.k, x.v,
                              memory.get());
    }
#endif
  attention_parts const parts(x.of, sizeof(T));
  for (index i = 0; i < parts.count(); ++i) attend(on, parts[i], x);
}
template <class Exec, class T>
void attention_on_device(resources<Exec>& on, primitives::attention_vjp<T> const& x) {
#if defined(MTF_CUDNN)
  if (x.dot == nullptr)
    if (auto const form = fused_form<T>(on, x.of, static_cast<double>(x.scale), {x.q, x.k, x.v, x.out})) {
      Kokkos::Profiling::ScopedRegion const region("mtf::attention_vjp, cuDNN");
      workspace<std::byte, Exec> const memory(on, static_cast<index>(on.fused.backward_bytes(*form)));
      return on.fused.backward(on.exec.cuda_stream(), *form, x.dq, x.dk, x.dv, x.q, x.k, x.v, x.out,
                               reinterpret_cast<float const*>(x.max), x.dout, memory.get());
    }
#endif
  attention_parts const parts(x.of, (x.of.has_more() ? 3 : 2) * sizeof(T));
  for (index i = 0; i < parts.count(); ++i) attend_backward(on, parts[i], x);
}
template <class Exec, class T>
void attention_on_device(resources<Exec>& on, primitives::attention_bias_vjp<T> const& x) {
  attention_products const w{x.of};
  index const n = w.rows() * x.of.keys;
  workspace<T, Exec> const weights(on, n), gradient(on, n);
  bool const some = x.dot != nullptr;
  attention_weights<Exec, T, compute_t<T>>(on, w, x.scale, weights.get(), x.q, x.k, x.bias, some ? x.max : nullptr,
                                           some ? x.sum : nullptr);
  attention_score_gradients(on, w, x.scale, gradient.get(), static_cast<T const*>(weights.get()), x.dout, x.v, x.dot);
  compute(on, primitives::reduce<T>{combine::sum, w.of_the_bias(), x.dbias, gradient.get()});
}

}  // namespace mtf::kokkos
