#pragma once
// What running sums, products and maxima are made of, and what goes back through them: what elements come to, and how
// that is joined. How rows are gone through is in cumulative.hpp.
#include <type_traits>

#include <mtf/backend/primitives/cumulative.hpp>
#include <mtf/kokkos/launch/team.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

// A run is a value with
//   state                            what elements come to
//   nothing(), element(at, j)        what none comes to, and what the j-th of a row alone, at a place in memory
//   joined(earlier, later)           both together
//   begin(row)                       what comes before a row
//   put(at, j, before, after)        the result of an element
//   tile<Size>, on(tile, bring)      room for Size elements; the same run on them, which bring(to, from) brings
//   give(tile, back)                 what it put into the tile, by back(to, from)

/// By what a run takes elements together.
template <primitives::running By>
struct run_op {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A neutral() {
    if constexpr (By == primitives::running::max)
      return max_op::neutral<A>();
    else
      return A(By == primitives::running::product ? 1 : 0);
  }
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A of(A a, A b) {
    if constexpr (By == primitives::running::sum)
      return a + b;
    else if constexpr (By == primitives::running::product)
      return a * b;
    else
      return number_at<A>(max_op::of(order_of(a), order_of(b)));  // larger(a, b), as compilers vectorize it
  }
};

template <primitives::running By, class T, class R>
struct run_of {
  using state = compute_t<R>;
  R* out;
  T const* x;
  state const* before;
  bool exclusive;

  KOKKOS_FORCEINLINE_FUNCTION static state nothing() { return run_op<By>::template neutral<state>(); }
  KOKKOS_FORCEINLINE_FUNCTION static state joined(state earlier, state later) { return run_op<By>::of(earlier, later); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION state begin(index row) const {
    return before != nullptr ? before[row] : nothing();
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION state element(index at, index /*j*/) const {
    return static_cast<state>(load(x[at]));
  }
  KOKKOS_FORCEINLINE_FUNCTION void put(index at, index /*j*/, state from, state to) const {
    out[at] = convert<R>(exclusive ? from : to);
  }

  template <index Size>
  struct tile {
    alignas(64) T x[Size] = {};
    alignas(64) R out[Size];
  };
  template <class Tile, class F>
  [[nodiscard]] run_of on(Tile& t, F const& bring) const {
    bring(t.x, x);
    return {t.out, t.x, nullptr, exclusive};
  }
  template <class Tile, class F>
  void give(Tile const& t, F const& back) const {
    back(out, t.out);
  }
};

/// What goes back through an element, or through a run of them: factor * (what arrives) + summand.
template <class A>
struct handed_on {
  A factor, summand;
};

/// `factor` of an element: how much of the run's gradient goes on to what came before.
template <primitives::running By, class T>
struct vjp_of_run {
  using A = compute_t<T>;
  using state = handed_on<A>;
  primitives::run_vjp_of<T> of;
  T* dx;
  A const* arrives;

  KOKKOS_FORCEINLINE_FUNCTION static state nothing() { return {A(1), A(0)}; }
  KOKKOS_FORCEINLINE_FUNCTION static state joined(state earlier, state later) {
    if (earlier.factor == A(1) && earlier.summand == A(0)) return later;  // also where that is no number
    return {later.factor * earlier.factor, passed_on(later.factor, earlier.summand) + later.summand};
  }
  /// What arrives at a row is a number: whatever its factor is, it is not nothing.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION state begin(index row) const {
    return {A(0), arrives != nullptr ? arrives[row] : A(0)};
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION state element(index at, index j) const {
    A const dy = load(of.dy[at]), factor = factor_of(at, j);
    return {is_last(j) ? A(0) : factor, of.exclusive ? dy : passed_on(factor, dy)};
  }
  KOKKOS_FORCEINLINE_FUNCTION void put(index at, index j, state from, state /*to*/) const {
    A const after = of.exclusive ? from.summand : load(of.dy[at]) + from.summand;
    bool const none = of.exclusive && is_last(j);
    if constexpr (By == primitives::running::product)
      dx[at] = convert<T>(none ? A(0) : of.before[at] * after);
    else
      dx[at] = convert<T>(!none && is_new(at, j) && load(of.x[at]) == load(of.x[at]) ? after : A(0));
  }

  template <index Size>
  struct tile {
    alignas(64) T x[Size] = {};
    alignas(64) T dy[Size] = {};
    alignas(64) A before[Size] = {};
    alignas(64) T dx[Size];
  };
  template <class Tile, class F>
  [[nodiscard]] vjp_of_run on(Tile& t, F const& bring) const {
    bring(t.x, of.x);
    bring(t.dy, of.dy);
    bring(t.before, of.before);
    vjp_of_run inside{of, t.dx, nullptr};
    inside.of.x = t.x;
    inside.of.dy = t.dy;
    inside.of.before = t.before;
    return inside;
  }
  template <class Tile, class F>
  void give(Tile const& t, F const& back) const {
    back(dx, t.dx);
  }

 private:
  /// A product's as IEEE 754 has it; of a maximum either all or nothing, whatever that is.
  KOKKOS_FORCEINLINE_FUNCTION static A passed_on(A factor, A arrives) {
    if constexpr (By == primitives::running::product)
      return factor * arrives;
    else
      return factor == A(0) ? A(0) : arrives;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION A factor_of(index at, index j) const {
    if constexpr (By == primitives::running::product)
      return load(of.x[at]);
    else
      return is_new(at, j) ? A(0) : A(1);
  }
  /// Is it larger than all before? The first is.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_new(index at, index j) const {
    bool const first = of.begins && j == (of.reverse ? of.of.n - 1 : 0);
    return first || order_of(of.before[at]) < order_of(load(of.x[at]));
  }
  /// Nothing arrives at the last of all.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_last(index j) const {
    return of.ends && j == (of.reverse ? 0 : of.of.n - 1);
  }
};

/// f(By), the first argument as a constant.
template <class F>
void by_constant(primitives::running by, F const& f) {
  using primitives::running;
  switch (by) {
    case running::sum:
      return f(std::integral_constant<running, running::sum>{});
    case running::product:
      return f(std::integral_constant<running, running::product>{});
    case running::max:
      return f(std::integral_constant<running, running::max>{});
  }
}

}  // namespace mtf::kokkos
