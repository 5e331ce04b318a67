#pragma once
// Layer norm (Centered) and RMS norm (not; mean is then unused, beta null) of rows, whole or in the pieces that a
// dimension split over ranks needs. gamma, beta: [n].
#include <type_traits>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// y = (x - mean) * rstd * gamma + beta along n; mean and rstd are kept for the backward pass.
template <bool Centered, class T>
struct norm {
  static constexpr char const* name = "mtf::norm";
  using A = compute_t<T>;
  rows of;
  A eps;
  T* y;
  A* mean;
  A* rstd;
  T const* x;
  T const* gamma;
  std::type_identity_t<T const*> beta;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of); }
};

/// Gradients of norm; dgamma and dbeta are overwritten, with the sums over this rank's rows. dx is added to what is
/// there if `accumulate`, which only dense rows (of.inner = 1) may be. s1 and s2, both or none: norm_vjp_sums of the
/// whole rows, of n_global elements, where these are only parts of them.
template <bool Centered, class T>
struct norm_vjp {
  static constexpr char const* name = "mtf::norm_vjp";
  using A = compute_t<T>;
  rows of;
  T* dx;
  T* dgamma;
  std::type_identity_t<T*> dbeta;
  T const* dy;
  T const* x;
  T const* gamma;
  A const* mean;
  A const* rstd;
  bool accumulate = false;
  index n_global = 0;
  A const* s1 = nullptr;
  A const* s2 = nullptr;

  [[nodiscard]] constexpr double bytes() const { return (accumulate ? 4 : 3) * bytes_moved<T>(of); }
};

/// out = sum of (x - mean)^2 of each row; mean null: 0.
template <class T>
struct row_square_sum {
  static constexpr char const* name = "mtf::row_square_sum";
  using A = compute_t<T>;
  rows of;
  A const* mean;
  A* out;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of); }
};

/// Global square sums to rstd = 1 / sqrt(square sum / n_global + eps), in place.
template <class A>
struct rows_statistics {
  static constexpr char const* name = "mtf::rows_statistics";
  index n;
  std::type_identity_t<A> eps;
  index n_global;
  A* inout;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<A>(n); }
};

/// norm from global statistics.
template <bool Centered, class T>
struct norm_apply {
  static constexpr char const* name = "mtf::norm_apply";
  using A = compute_t<T>;
  rows of;
  A const* mean;
  A const* rstd;
  T* y;
  T const* x;
  T const* gamma;
  std::type_identity_t<T const*> beta;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of); }
};

/// s1 = sum dy gamma, s2 = sum dy gamma xhat of each row.
template <bool Centered, class T>
struct norm_vjp_sums {
  static constexpr char const* name = "mtf::norm_vjp_sums";
  using A = compute_t<T>;
  rows of;
  A* s1;
  A* s2;
  T const* dy;
  T const* x;
  T const* gamma;
  A const* mean;
  A const* rstd;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of); }
};

}  // namespace mtf::primitives
