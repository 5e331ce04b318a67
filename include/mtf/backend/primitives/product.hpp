#pragma once
// Products over loops: of this rank's elements, then of all ranks' products, and their derivatives. Nothing is divided
// by elements, which may be 0.
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// out[kept] = the product over the reduced loops of in; out is dense, and not rounded to T.
template <class T>
struct product {
  static constexpr char const* name = "mtf::product";
  using A = compute_t<T>;
  reduction of;
  A* out;
  T const* in;

  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<A>(of.kept, 0) + bytes_moved<T>(of.kept, 1) * static_cast<double>(of.reduced.size());
  }
};

/// out = the product of all ranks' parts, n of each, others = that of all but rank `me`: both in the ranks' order.
template <class T>
struct join_products {
  static constexpr char const* name = "mtf::join_products";
  using A = compute_t<T>;
  index n, ranks, me;
  T* out;
  A* others;
  A const* parts;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(n) + bytes_moved<A>((1 + ranks) * n); }
};

/// dx = dy * others * the product of all other elements of this rank that x was multiplied with. dx has the strides of
/// x, others those of dy; of.kept has operands (dy, x).
template <class T>
struct product_vjp {
  static constexpr char const* name = "mtf::product_vjp";
  using A = compute_t<T>;
  reduction of;
  T* dx;
  T const* x;
  T const* dy;
  A const* others;

  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<T>(of.kept, 0) + bytes_moved<A>(of.kept, 0) +
           2 * bytes_moved<T>(of.kept, 1) * static_cast<double>(of.reduced.size());
  }
};

}  // namespace mtf::primitives
