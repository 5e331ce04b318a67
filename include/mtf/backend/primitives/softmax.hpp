#pragma once
// Softmax of rows, whole or in the pieces that a dimension split over ranks needs. Tensors [outer, n, inner];
// statistics have one A, the compute type, a row.
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// y = softmax(scale * x) along n over the visible elements; hidden ones are 0, as are rows with nothing
/// visible. max and sum, both or none: those of the whole rows, row_max and row_exp_sum, where these are only parts of
/// them.
template <class T>
struct softmax {
  static constexpr char const* name = "mtf::softmax";
  using A = compute_t<T>;
  rows of;
  A scale;
  visible_rows seen;
  T* y;
  T const* x;
  A const* max = nullptr;
  A const* sum = nullptr;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of); }
};

/// dx = scale * y * (dy - sum(y dy)) over the visible elements; hidden ones are 0, whatever dy is there. dot: these
/// sums, row_dot of the whole rows, where these are only parts of them.
template <class T>
struct softmax_vjp {
  static constexpr char const* name = "mtf::softmax_vjp";
  using A = compute_t<T>;
  rows of;
  A scale;
  T* dx;
  T const* y;
  T const* dy;
  A const* dot = nullptr;
  visible_rows seen{};

  [[nodiscard]] constexpr double bytes() const { return 3 * bytes_moved<T>(of); }
};

/// The largest visible scale * x of each row; -infinity where nothing is.
template <class T>
struct row_max {
  static constexpr char const* name = "mtf::row_max";
  using A = compute_t<T>;
  rows of;
  A scale;
  A* out;
  T const* x;
  visible_rows seen{};

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of); }
};

/// The sum of exp(scale * x - max) over the visible elements of each row.
template <class T>
struct row_exp_sum {
  static constexpr char const* name = "mtf::row_exp_sum";
  using A = compute_t<T>;
  rows of;
  A scale;
  visible_rows seen;
  A const* max;
  A* sum;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of); }
};

/// out = sum(y dy) over the visible elements of each row.
template <class T>
struct row_dot {
  static constexpr char const* name = "mtf::row_dot";
  using A = compute_t<T>;
  rows of;
  A* out;
  T const* y;
  T const* dy;
  visible_rows seen{};

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of); }
};

/// out = sum(x) of each row.
template <class T>
struct row_sum {
  static constexpr char const* name = "mtf::row_sum";
  using A = compute_t<T>;
  rows of;
  A* out;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of); }
};

}  // namespace mtf::primitives
