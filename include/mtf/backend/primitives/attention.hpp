#pragma once
// Attention, fused.
#include <cstddef>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// out = softmax(scale * q k^T) v over the keys that each query sees, 0 where it sees none; max and sum, for the
/// backward pass, have one A a query each: of its scores the largest, and the sum of exp(score - max). Backends that
/// take the scores again need not write them, but where these are some of a query's keys, not all (`of_some`).
template <class T>
struct attention {
  static constexpr char const* name = "mtf::attention";
  static constexpr std::size_t element = sizeof(T);
  using A = compute_t<T>;
  attention_shape of;
  A scale;
  T* out;
  A* max;
  A* sum;
  T const* q;
  T const* k;
  T const* v;
  T const* bias = nullptr;
  bool of_some = false;

  [[nodiscard]] constexpr double flops() const { return of.flops(of.head) + of.flops(of.values); }
  [[nodiscard]] constexpr index size() const { return of.size(); }
  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of.elements()); }
};

/// Gradients of attention, which are overwritten. Where the keys are some of all that a query sees: max and sum are of
/// all, and `dot` is the sum of each weight times its gradient, for each query; else it is null.
template <class T>
struct attention_vjp {
  static constexpr char const* name = "mtf::attention_vjp";
  static constexpr std::size_t element = sizeof(T);
  using A = compute_t<T>;
  attention_shape of;
  A scale;
  T* dq;
  T* dk;
  T* dv;
  T const* q;
  T const* k;
  T const* v;
  T const* out;
  A const* max;
  A const* sum;
  T const* dout;
  T const* bias = nullptr;
  A const* dot = nullptr;

  [[nodiscard]] constexpr double flops() const { return 3 * of.flops(of.head) + 2 * of.flops(of.values); }
  [[nodiscard]] constexpr index size() const { return of.size(); }
  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(2 * of.elements()); }
};

/// The gradient of attention's bias, at the places of the batch, the queries and these keys that the bias has: the sum
/// over the others. max, sum and dot as attention_vjp has them.
template <class T>
struct attention_bias_vjp {
  static constexpr char const* name = "mtf::attention_bias_vjp";
  static constexpr std::size_t element = sizeof(T);
  using A = compute_t<T>;
  attention_shape of;
  A scale;
  T* dbias;
  T const* q;
  T const* k;
  T const* v;
  T const* out;
  A const* max;
  A const* sum;
  T const* dout;
  T const* bias;
  A const* dot = nullptr;

  [[nodiscard]] constexpr double flops() const { return of.flops(of.head) + of.flops(of.values); }
  [[nodiscard]] constexpr index size() const { return of.size(); }
  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of.elements()); }
};

}  // namespace mtf::primitives
