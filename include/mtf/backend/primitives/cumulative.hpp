#pragma once
// Running sums, products and maxima of rows, in parts: what comes before a part is given, what a part comes to is
// found.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// By what elements are taken together; a maximum is that of math::larger.
enum class running : std::uint8_t { sum, product, max };

/// out = what the elements of its row so far come to, itself included unless `exclusive`; from the last to the first if
/// `reverse`. `before`: what comes before each row's part; null: nothing.
template <class T, class R = T>
struct run_along {
  static constexpr char const* name = "mtf::run_along";
  using A = compute_t<R>;
  running by;
  rows of;
  bool reverse, exclusive;
  R* out;
  T const* x;
  A const* before;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of) + bytes_moved<R>(of); }
};

/// out[row] = what all elements of a row come to.
template <class T, class R = T>
struct run_totals {
  static constexpr char const* name = "mtf::run_totals";
  using A = compute_t<R>;
  running by;
  rows of;
  A* out;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of) + bytes_moved<A>(of.count()); }
};

/// The derivative of a running product or maximum; that of a sum is a running sum. Against the direction of the run a
/// number is handed on: what arrives at an element is the gradient of what the run comes to after it.
template <class T>
struct run_vjp_of {
  using A = compute_t<T>;
  running by;
  rows of;
  bool reverse, exclusive;  // as forward
  bool begins, ends;        // with the first element of all, and the last, in the run's direction
  T const* x;
  A const* before;  // what comes before each element, in x's places
  T const* dy;
};
/// dx, where `arrives` (null: 0) at the last element of each row.
template <class T>
struct run_vjp {
  static constexpr char const* name = "mtf::run_vjp";
  using A = compute_t<T>;
  run_vjp_of<T> of;
  T* dx;
  A const* arrives;

  [[nodiscard]] constexpr double bytes() const { return 3 * bytes_moved<T>(of.of) + bytes_moved<A>(of.of); }
};
/// What a row's part hands on is factor * arrives + summand: out has all factors, then all summands.
template <class T>
struct run_vjp_totals {
  static constexpr char const* name = "mtf::run_vjp_totals";
  using A = compute_t<T>;
  run_vjp_of<T> of;
  A* out;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of.of) + bytes_moved<A>(of.of); }
};

/// x[i] = what earlier[i] and then x[i] come to.
template <class A>
struct join_runs {
  static constexpr char const* name = "mtf::join_runs";
  running by;
  index n;
  A* x;
  A const* earlier;

  [[nodiscard]] constexpr double bytes() const { return 3 * bytes_moved<A>(n); }
};
/// The same of what n parts hand on, as run_vjp_totals has it: x[i] = x[i] after earlier[i].
template <class A>
struct join_run_vjps {
  static constexpr char const* name = "mtf::join_run_vjps";
  running by;
  index n;
  A* x;
  A const* earlier;

  [[nodiscard]] constexpr double bytes() const { return 6 * bytes_moved<A>(n); }
};

}  // namespace mtf::primitives
