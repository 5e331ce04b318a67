#pragma once
// One step of an optimizer over the elements of a parameter, in the parameter's compute type.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/optimizer.hpp>
#include <mtf/kokkos/kernels/random.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/launch/nest.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/math/fast_math.hpp>
#include <mtf/math/updates.hpp>
#if MTF_HAS_DEVICES
#include <mtf/kokkos/launch/batch.hpp>
#endif

namespace mtf::kokkos {

/// x rounded to one of its two neighbours, the upper in magnitude with the probability of what is left out, by 16
/// random bits. What bfloat16 holds stays.
MTF_FUNCTION bfloat16 round_at_random(float x, std::uint32_t random) {
  auto const u = Kokkos::bit_cast<std::uint32_t>(x);
  bfloat16 r(x);  // infinities and NaN
  if ((u & 0x7f800000U) != 0x7f800000U) r.bits = static_cast<std::uint16_t>((u + (random & 0xffffU)) >> 16U);
  return r;
}

template <class Formula, class P, class G, class S>
struct update_body {
  using A = compute_t<P>;
  P* p;
  G const* g;
  S* state[Formula::kept > 0 ? Formula::kept : 1];
  Formula with;
  A grad_scale;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const {
    A kept[Formula::kept > 0 ? Formula::kept : 1];
    for (int k = 0; k < Formula::kept; ++k) kept[k] = static_cast<A>(load(state[k][j]));
    p[j] = convert<P>(with(load(p[j]), static_cast<A>(load(g[j])) * grad_scale, kept));
    for (int k = 0; k < Formula::kept; ++k) state[k][j] = convert<S>(kept[k]);
  }
};

/// The same with state of bfloat16. Random words of one counter, the element's place in the global tensor, are for all
/// that is kept for it.
template <class Formula, class P, class G>
struct update_at_random {
  static_assert(Formula::kept <= 4, "a counter gives four words");
  using A = compute_t<P>;
  update_body<Formula, P, G, bfloat16> of;
  nest<1> where;
  index offset;
  std::uint64_t key;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const {
    index at[1];
    where.locate(j, at);
    auto const random = philox(key, static_cast<std::uint64_t>(offset + at[0]), 0);
    A kept[Formula::kept > 0 ? Formula::kept : 1];
    for (int k = 0; k < Formula::kept; ++k) kept[k] = static_cast<A>(load(of.state[k][j]));
    of.p[j] = convert<P>(of.with(load(of.p[j]), static_cast<A>(load(of.g[j])) * of.grad_scale, kept));
    for (int k = 0; k < Formula::kept; ++k)
      of.state[k][j] = round_at_random(static_cast<float>(kept[k]), random.word[k]);
  }
};

template <class Formula, class P, class G, class S>
auto body_of(primitives::update<Formula, P, G, S> const& p) {
  update_body<Formula, P, G, S> body{p.p, p.g, {}, p.with, p.grad_scale};
  for (int k = 0; k < Formula::kept; ++k) body.state[k] = p.state[k];
  if constexpr (std::is_same_v<S, bfloat16> && Formula::kept > 0)
    return update_at_random<Formula, P, G>{body, nest_of(p.random.of.local), p.random.of.offset, p.random.key};
  else
    return body;
}
template <class Exec, class Formula, class P, class G, class S>
void compute(device<Exec>& on, primitives::update<Formula, P, G, S> const& p) {
  for_elements(p.name, on.exec, p.n, body_of(p));
}
#if MTF_HAS_DEVICES
/// Noted, for a batch of them.
template <class Exec, class Formula, class P, class G, class S>
bool note(batch<Exec>& to, device<Exec>& on, primitives::update<Formula, P, G, S> const& p) {
  using body = decltype(body_of(p));
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    to.note(on, batched_elements<body>{body_of(p)}, p.n, nullptr, writes(p.p, p.n), reads(p.g, p.n),
            writes(p.state[K], p.n)...);
  }(std::make_index_sequence<static_cast<std::size_t>(Formula::kept)>{});
  return true;
}
#endif

// --- Adafactor -------------------------------------------------------------------------------------------------------

template <class G>
struct adafactor_squares_body {
  using A = compute_t<G>;
  A* out;
  G const* g;
  A grad_scale, epsilon;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const {
    A const x = load(g[j]) * grad_scale;
    out[j] = x * x + epsilon;
  }
};

template <class G>
struct adafactor_factored_kernel {
  using A = compute_t<G>;
  static constexpr int operands = 4;
  nest<4> where;
  index n;
  A* x;
  G const* g;
  A const* rows;
  A const* columns;
  A const* row_sum;
  A grad_scale, count;

  KOKKOS_FORCEINLINE_FUNCTION A at(index i, index row, index column, index sum) const {
    A const r = fast_sqrt(row_sum[sum] / (rows[row] * count)), c = fast_sqrt(columns[column]);
    return load(g[i]) * grad_scale * r / c;
  }
  KOKKOS_FORCEINLINE_FUNCTION A value(index i, index const (&o)[4]) const { return at(i, o[1], o[2], o[3]); }
  KOKKOS_FORCEINLINE_FUNCTION void put(index i, index const (& /*o*/)[4], A value) const { x[i] = value; }
  void block(index b) const {
    index i = b * host_grain;
    index const row = where.inner_stride(1), column = where.inner_stride(2), sum = where.inner_stride(3);
    where.for_runs(i, std::min(n, i + host_grain), [&](index const(&o)[4], index m) {
      MTF_SIMD
      for (index j = 0; j < m; ++j) x[i + j] = at(i + j, o[1] + j * row, o[2] + j * column, o[3] + j * sum);
      i += m;
    });
  }
};

template <class G>
struct adafactor_whole_body {
  using A = compute_t<G>;
  A* x;
  A* v;
  G const* g;
  A grad_scale, epsilon, rest;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const {
    A const grad = load(g[j]) * grad_scale;
    A const mean = v[j] + rest * (grad * grad + epsilon - v[j]);
    v[j] = mean;
    x[j] = grad / fast_sqrt(mean);
  }
};

template <class P>
struct adafactor_apply_body {
  using A = compute_t<P>;
  P* p;
  A const* x;
  double const* sums;
  double count, lr, epsilon, clip, weight_decay;
  bool scaled;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j) const {
    double const of_x = Kokkos::sqrt(sums[0] / count) / clip, of_p = Kokkos::sqrt(sums[1] / count);
    double const rate = scaled ? lr * (of_p > epsilon ? of_p : epsilon) : lr;
    A const value = load(p[j]);
    A const step = static_cast<A>(rate / (of_x > 1 ? of_x : 1.0)) * x[j];
    p[j] = convert<P>(value - step - static_cast<A>(rate * weight_decay) * value);
  }
};

template <class Exec, class G>
void compute(device<Exec>& on, primitives::adafactor_squares<G> const& p) {
  for_elements(p.name, on.exec, p.n, adafactor_squares_body<G>{p.out, p.g, p.grad_scale, p.epsilon});
}
template <class Exec, class G>
void compute(device<Exec>& on, primitives::adafactor_factored<G> const& p) {
  launch_nest(p.name, on.exec,
              adafactor_factored_kernel<G>{nest_of(p.of), p.of.size(), p.x, p.g, p.rows, p.columns, p.row_sum,
                                           p.grad_scale, p.count});
}
template <class Exec, class G>
void compute(device<Exec>& on, primitives::adafactor_whole<G> const& p) {
  for_elements(p.name, on.exec, p.n, adafactor_whole_body<G>{p.x, p.v, p.g, p.grad_scale, p.epsilon, p.rest});
}
template <class Exec, class P>
void compute(device<Exec>& on, primitives::adafactor_apply<P> const& p) {
  for_elements(p.name, on.exec, p.n,
               adafactor_apply_body<P>{p.p, p.x, p.sums, p.count, p.lr, p.epsilon, p.clip, p.weight_decay, p.scaled});
}

// Of the updates the library has those of the commonest optimizers, with parameters, gradients and state of one kind.
#if defined(MTF_KOKKOS_COMPILED)
#define MTF_COMPILED_UPDATE_ON(EXEC, ON, NAME)                                                         \
  MTF_FLOAT_KERNEL void compute(ON<EXEC>&, primitives::update<updates::NAME<float>, float> const&);    \
  MTF_DOUBLE_KERNEL void compute(ON<EXEC>&, primitives::update<updates::NAME<double>, double> const&); \
  MTF_BFLOAT16_KERNEL void compute(ON<EXEC>&, primitives::update<updates::NAME<float>, bfloat16> const&);
MTF_ON_EACH_SPACE(MTF_COMPILED_UPDATE_ON, device, adamw)
MTF_ON_EACH_SPACE(MTF_COMPILED_UPDATE_ON, device, sgd)
MTF_ON_EACH_SPACE(MTF_COMPILED_UPDATE_ON, device, lion)
#endif

}  // namespace mtf::kokkos
