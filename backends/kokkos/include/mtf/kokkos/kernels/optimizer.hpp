#pragma once
// One step of an optimizer over the elements of a parameter, in the parameter's compute type.
#include <algorithm>
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

/// What gradients are multiplied by.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION A scale_at(double const* grad_scale) {
  return grad_scale == nullptr ? A(1) : static_cast<A>(*grad_scale);
}
/// True of the scale of gradients whose norm is not finite.
template <class A>
KOKKOS_FORCEINLINE_FUNCTION bool is_nan(A scale) {
  return !(scale == scale);
}

// body(j, scale) for each element j. Where the scale is NaN body.without_scale(j), if there is one: for memory that
// others read all the same.
template <class Body>
inline constexpr bool fills_without_scale = requires(Body const& b) { b.without_scale(index(0)); };

template <class Body>
struct host_scaled_kernel {
  Body body;
  index n;
  double const* grad_scale;

  void operator()(index block) const {
    Body const b = body;
    auto const scale = scale_at<typename Body::A>(grad_scale);
    index const begin = block * host_grain, end = std::min(n, begin + host_grain);
    if (is_nan(scale)) {
      if constexpr (fills_without_scale<Body>)
        for (index j = begin; j < end; ++j) b.without_scale(j);
      return;
    }
    MTF_SIMD
    for (index j = begin; j < end; ++j) b(j, scale);
  }
};
template <class Body>
struct scaled_element {
  Body body;
  double const* grad_scale;

  KOKKOS_FUNCTION void operator()(index j) const {
    auto const scale = scale_at<typename Body::A>(grad_scale);
    if (!is_nan(scale)) {
      body(j, scale);
    } else {
      if constexpr (fills_without_scale<Body>) body.without_scale(j);
    }
  }
};
template <class Exec, class Body>
void for_scaled_elements(char const* label, Exec const& exec, index n, double const* grad_scale, Body const& body) {
  if (n == 0) return;
  if constexpr (runs_on_host<Exec>)
    launch_on_host(label, exec, ceil_div(n, host_grain), n, host_scaled_kernel<Body>{body, n, grad_scale});
  else
    Kokkos::parallel_for(label, range_policy<Exec>(exec, 0, n), scaled_element<Body>{body, grad_scale});
}
#if MTF_HAS_DEVICES
/// For batches of them: the scale is read once a thread.
template <class Body>
struct batched_scaled {
  Body body;
  double const* grad_scale;

  template <class Team>
  KOKKOS_FUNCTION void chunk(Team const& team, index first, index n, double* /*partial*/) const {
    static_assert(!fills_without_scale<Body>);
    auto const scale = scale_at<typename Body::A>(grad_scale);
    if (is_nan(scale)) return;
    Body const b = body;
    team.each(n, [=](index j) { b(first + j, scale); });
  }
};
#endif

struct clip_factor_body {
  primitives::clip_factor of;
  KOKKOS_FUNCTION void operator()(index /*j*/) const {
    *of.grad_scale = updates::clip_factor(*of.square_sum, of.limit);
  }
};
template <class Exec>
void compute(device<Exec>& on, primitives::clip_factor const& p) {
  for_elements(p.name, on.exec, 1, clip_factor_body{p});
}

template <class Formula, class P, class G, class S>
struct update_body {
  using A = compute_t<P>;
  P* p;
  G const* g;
  S* state[Formula::kept > 0 ? Formula::kept : 1];
  Formula with;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j, A scale) const {
    A kept[Formula::kept > 0 ? Formula::kept : 1];
    for (int k = 0; k < Formula::kept; ++k) kept[k] = static_cast<A>(load(state[k][j]));
    p[j] = convert<P>(with(load(p[j]), static_cast<A>(load(g[j])) * scale, kept));
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

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j, A scale) const {
    index at[1];
    where.locate(j, at);
    auto const random = philox(key, static_cast<std::uint64_t>(offset + at[0]), 0);
    A kept[Formula::kept > 0 ? Formula::kept : 1];
    for (int k = 0; k < Formula::kept; ++k) kept[k] = static_cast<A>(load(of.state[k][j]));
    of.p[j] = convert<P>(of.with(load(of.p[j]), static_cast<A>(load(of.g[j])) * scale, kept));
    for (int k = 0; k < Formula::kept; ++k)
      of.state[k][j] = round_at_random(static_cast<float>(kept[k]), random.word[k]);
  }
};

template <class Formula, class P, class G, class S>
auto body_of(primitives::update<Formula, P, G, S> const& p) {
  update_body<Formula, P, G, S> body{p.p, p.g, {}, p.with};
  for (int k = 0; k < Formula::kept; ++k) body.state[k] = p.state[k];
  if constexpr (std::is_same_v<S, bfloat16> && Formula::kept > 0)
    return update_at_random<Formula, P, G>{body, nest_of(p.random.of.local), p.random.of.offset, p.random.key};
  else
    return body;
}
template <class Exec, class Formula, class P, class G, class S>
void compute(device<Exec>& on, primitives::update<Formula, P, G, S> const& p) {
  for_scaled_elements(p.name, on.exec, p.n, p.grad_scale, body_of(p));
}
#if MTF_HAS_DEVICES
/// Noted, for a batch of them. (No update writes its scale, so that this is not memory by which two could meet.)
template <class Exec, class Formula, class P, class G, class S>
bool note(batch<Exec>& to, device<Exec>& on, primitives::update<Formula, P, G, S> const& p) {
  using body = decltype(body_of(p));
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    to.note(on, batched_scaled<body>{body_of(p), p.grad_scale}, p.n, nullptr, writes(p.p, p.n), reads(p.g, p.n),
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
  A epsilon;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j, A scale) const {
    A const x = load(g[j]) * scale;
    out[j] = x * x + epsilon;
  }
  KOKKOS_FORCEINLINE_FUNCTION void without_scale(index j) const { out[j] = 0; }
};

template <class T>
struct adafactor_mean_body {
  using A = T;
  A* mean;
  A const* sum;
  A rest, one_of_count;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j, A /*scale*/) const {
    mean[j] = mean[j] + rest * (sum[j] * one_of_count - mean[j]);
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
  double const* grad_scale;
  A count;

  KOKKOS_FORCEINLINE_FUNCTION A at(index i, index row, index column, index sum, A scale) const {
    A const r = fast_sqrt(row_sum[sum] / (rows[row] * count)), c = fast_sqrt(columns[column]);
    return load(g[i]) * scale * r / c;
  }
  KOKKOS_FORCEINLINE_FUNCTION A value(index i, index const (&o)[4]) const {
    return at(i, o[1], o[2], o[3], scale_at<A>(grad_scale));
  }
  KOKKOS_FORCEINLINE_FUNCTION void put(index i, index const (& /*o*/)[4], A value) const { x[i] = value; }
  void block(index b) const {
    index i = b * host_grain;
    A const scale = scale_at<A>(grad_scale);
    index const row = where.inner_stride(1), column = where.inner_stride(2), sum = where.inner_stride(3);
    where.for_runs(i, std::min(n, i + host_grain), [&](index const(&o)[4], index m) {
      MTF_SIMD
      for (index j = 0; j < m; ++j) x[i + j] = at(i + j, o[1] + j * row, o[2] + j * column, o[3] + j * sum, scale);
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
  A epsilon, rest;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j, A scale) const {
    A const grad = load(g[j]) * scale;
    A const mean = v[j] + rest * (grad * grad + epsilon - v[j]);
    v[j] = mean;
    x[j] = grad / fast_sqrt(mean);
  }
  KOKKOS_FORCEINLINE_FUNCTION void without_scale(index j) const { x[j] = 0; }
};

template <class P>
struct adafactor_apply_body {
  using A = compute_t<P>;
  P* p;
  A const* x;
  double const* sums;
  double count, lr, epsilon, clip, weight_decay;
  bool scaled;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(index j, A /*scale*/) const {
    double const of_x = Kokkos::sqrt(sums[0] / count) / clip, of_p = Kokkos::sqrt(sums[1] / count);
    double const rate = scaled ? lr * (of_p > epsilon ? of_p : epsilon) : lr;
    A const value = load(p[j]);
    A const step = static_cast<A>(rate / (of_x > 1 ? of_x : 1.0)) * x[j];
    p[j] = convert<P>(value - step - static_cast<A>(rate * weight_decay) * value);
  }
};

template <class Exec, class G>
void compute(device<Exec>& on, primitives::adafactor_squares<G> const& p) {
  for_scaled_elements(p.name, on.exec, p.n, p.grad_scale, adafactor_squares_body<G>{p.out, p.g, p.epsilon});
}
template <class Exec, class A>
void compute(device<Exec>& on, primitives::adafactor_mean<A> const& p) {
  for_scaled_elements(p.name, on.exec, p.n, p.grad_scale,
                      adafactor_mean_body<A>{p.mean, p.sum, p.rest, A(1) / p.count});
}
template <class Exec, class G>
void compute(device<Exec>& on, primitives::adafactor_factored<G> const& p) {
  launch_nest(p.name, on.exec,
              adafactor_factored_kernel<G>{nest_of(p.of), p.of.size(), p.x, p.g, p.rows, p.columns, p.row_sum,
                                           p.grad_scale, p.count});
}
template <class Exec, class G>
void compute(device<Exec>& on, primitives::adafactor_whole<G> const& p) {
  for_scaled_elements(p.name, on.exec, p.n, p.grad_scale, adafactor_whole_body<G>{p.x, p.v, p.g, p.epsilon, p.rest});
}
template <class Exec, class P>
void compute(device<Exec>& on, primitives::adafactor_apply<P> const& p) {
  for_scaled_elements(
      p.name, on.exec, p.n, p.grad_scale,
      adafactor_apply_body<P>{p.p, p.x, p.sums, p.count, p.lr, p.epsilon, p.clip, p.weight_decay, p.scaled});
}

// Of the updates the library has those of the commonest optimizers, with parameters, gradients and state of one kind.
MTF_COMPILED_ONCE(device, clip_factor)
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
