#pragma once
// Log-softmax and log-sum-exp of rows, as in softmax.hpp.
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// y = x - logsumexp(x) along n. max and sum as for softmax.
template <class T>
struct log_softmax {
  static constexpr char const* name = "mtf::log_softmax";
  using A = compute_t<T>;
  rows of;
  T* y;
  T const* x;
  A const* max = nullptr;
  A const* sum = nullptr;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of); }
};

/// dx = dy - exp(y) * sum(dy). sum: row_sum of the whole rows, where these are only parts of them.
template <class T>
struct log_softmax_vjp {
  static constexpr char const* name = "mtf::log_softmax_vjp";
  using A = compute_t<T>;
  rows of;
  T* dx;
  T const* y;
  T const* dy;
  A const* sum = nullptr;

  [[nodiscard]] constexpr double bytes() const { return 3 * bytes_moved<T>(of); }
};

/// y = max + log(sum) of each row, with its maximum and its sum of exp(x - max), which the backward pass gets: y is
/// rounded as the maximum is, however small the differences in the row are.
template <class T>
struct logsumexp {
  static constexpr char const* name = "mtf::logsumexp";
  using A = compute_t<T>;
  rows of;
  T* y;
  A* max;
  A* sum;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of); }
};

/// dx = dy * exp(x - max) / sum; these are of whole rows, so this serves a dimension split over ranks too.
template <class T>
struct logsumexp_vjp {
  static constexpr char const* name = "mtf::logsumexp_vjp";
  using A = compute_t<T>;
  rows of;
  T* dx;
  T const* x;
  A const* max;
  A const* sum;
  T const* dy;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of); }
};

/// y = max + log(sum).
template <class T>
struct logsumexp_finish {
  static constexpr char const* name = "mtf::logsumexp_finish";
  using A = compute_t<T>;
  index n;
  T* y;
  A const* max;
  A const* sum;

  [[nodiscard]] constexpr double bytes() const { return 3 * bytes_moved<T>(n); }
};

}  // namespace mtf::primitives
