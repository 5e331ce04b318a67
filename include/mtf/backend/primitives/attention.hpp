#pragma once
// Attention, fused.
#include <cstddef>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// out = softmax(scale * q k^T) v over the keys that each query sees, 0 where it sees none; max and sum, for the
/// backward pass, have one A a query each: of its scores the largest, and the sum of exp(score - max).
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

  [[nodiscard]] constexpr double flops() const { return 2 * of.flops(); }
  [[nodiscard]] constexpr index size() const { return of.size(); }
  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(2 * (of.query_elements() + of.key_elements())); }
};

/// Gradients of attention, which are overwritten.
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

  [[nodiscard]] constexpr double flops() const { return 5 * of.flops(); }
  [[nodiscard]] constexpr index size() const { return of.size(); }
  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(4 * (of.query_elements() + of.key_elements())); }
};

}  // namespace mtf::primitives
