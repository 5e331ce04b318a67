#pragma once
// Matrix products.
#include <cstddef>
#include <type_traits>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// c[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n], added to c if `accumulate`. bias, one number for each
/// column, is added to every row; not with batch loops, and not with `accumulate`.
template <class T>
struct contract {
  static constexpr char const* name = "mtf::contract";
  static constexpr std::size_t element = sizeof(T);
  contraction of;
  T const* a;
  T const* b;
  T* c;
  bool accumulate = false;
  std::type_identity_t<T const*> bias = nullptr;

  [[nodiscard]] constexpr double flops() const { return of.flops(); }
  [[nodiscard]] constexpr index size() const { return of.size(); }
  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<T>(of.m * of.k) * distinct(of.batch, 0) + bytes_moved<T>(of.k * of.n) * distinct(of.batch, 1) +
           bytes_moved<T>(of.m * of.n) * distinct(of.batch, 2) * (accumulate ? 2 : 1);
  }
};

}  // namespace mtf::primitives
