#pragma once
// Kernels over rows, written once: the body gets a team and a row, and spells its inner loops with the team's `each`,
// `sum` and `max`. On the host the team is one thread and the loops are SIMD loops; on a device the loops are spread
// over the threads of a block. Thread t of a team always has the same elements j of a row, so a body may read in one
// loop what it wrote at the same j in an earlier one.
#include <limits>

#include <mtf/detail/fast_math.hpp>
#include <mtf/kokkos/device.hpp>

// Behind a lambda's parameters, where GCC, Clang and nvcc take it.
#define MTF_INLINE_LAMBDA __attribute__((always_inline))

namespace mtf::detail {

/// Two sums taken in one loop.
template <class A>
struct two {
  A first, second;
  KOKKOS_FORCEINLINE_FUNCTION friend constexpr two operator+(two a, two b) {
    return {a.first + b.first, a.second + b.second};
  }
  KOKKOS_FORCEINLINE_FUNCTION constexpr two& operator+=(two b) { return *this = *this + b; }
};

/// The three ways to combine two values, with their neutral elements.
struct sum_op {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A neutral() {
    return A(0);
  }
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A of(A a, A b) {
    return a + b;
  }
  template <class A>
  using reducer = Kokkos::Sum<A>;
};
struct max_op {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A neutral() {
    using limits = std::numeric_limits<A>;
    return limits::has_infinity ? -limits::infinity() : limits::lowest();
  }
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A of(A a, A b) {
    return b > a ? b : a;
  }
  template <class A>
  using reducer = Kokkos::Max<A>;
};
struct min_op {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A neutral() {
    using limits = std::numeric_limits<A>;
    return limits::has_infinity ? limits::infinity() : limits::max();
  }
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A of(A a, A b) {
    return b < a ? b : a;
  }
  template <class A>
  using reducer = Kokkos::Min<A>;
};

// Inlined by force, and with the function object by value: GCC vectorizes a reduction only where it sees that nothing
// the function object holds changes in the loop.
struct host_team {
  template <class F>
  MTF_INLINE void each(index n, F f) const {
    MTF_SIMD
    for (index j = 0; j < n; ++j) f(j);
  }
  template <class Op, class A, class F>
  [[nodiscard]] MTF_INLINE A reduce(index n, F f) const {
    A s = Op::template neutral<A>();
    if constexpr (std::is_same_v<Op, sum_op>) {
      MTF_SIMD_REDUCE(+, s)
      for (index j = 0; j < n; ++j) s += f(j);
    } else {
      // Lanes by hand: Clang takes no maximum of floating numbers for a reduction.
      constexpr index lanes = 16;
      A part[lanes];
      for (A& p : part) p = s;
      index j = 0;
      for (; j + lanes <= n; j += lanes) {
        MTF_SIMD
        for (index l = 0; l < lanes; ++l) part[l] = Op::of(part[l], f(j + l));
      }
      for (; j < n; ++j) s = Op::of(s, f(j));
      for (A const p : part) s = Op::of(s, p);
    }
    return s;
  }
  template <class A, class F>
  [[nodiscard]] MTF_INLINE A sum(index n, F f) const {
    return reduce<sum_op, A>(n, f);
  }
  template <class A, class F>
  [[nodiscard]] MTF_INLINE A max(index n, F f) const {
    return reduce<max_op, A>(n, f);
  }
  /// f returns two<A>.
  template <class A, class F>
  [[nodiscard]] MTF_INLINE two<A> sum2(index n, F f) const {
    A s = 0, t = 0;
    MTF_SIMD_REDUCE(+, s, t)
    for (index j = 0; j < n; ++j) {
      two<A> const x = f(j);
      s += x.first;
      t += x.second;
    }
    return {s, t};
  }
  /// For what one thread does for the whole team.
  template <class F>
  MTF_INLINE void once(F f) const {
    f();
  }
};

template <class Member>
struct device_team {
  Member const& member;

  template <class F>
  KOKKOS_FUNCTION void each(index n, F const& f) const {
    for (index j = member.team_rank(); j < n; j += member.team_size()) f(j);
  }
  template <class Op, class A, class F>
  [[nodiscard]] KOKKOS_FUNCTION A reduce(index n, F const& f) const {
    A s = Op::template neutral<A>();
    for (index j = member.team_rank(); j < n; j += member.team_size()) s = Op::of(s, f(j));
    member.team_reduce(typename Op::template reducer<A>(s));
    return s;
  }
  template <class A, class F>
  [[nodiscard]] KOKKOS_FUNCTION A sum(index n, F const& f) const {
    return reduce<sum_op, A>(n, f);
  }
  template <class A, class F>
  [[nodiscard]] KOKKOS_FUNCTION A max(index n, F const& f) const {
    return reduce<max_op, A>(n, f);
  }
  template <class A, class F>
  [[nodiscard]] KOKKOS_FUNCTION two<A> sum2(index n, F const& f) const {
    two<A> s{A(0), A(0)};
    for (index j = member.team_rank(); j < n; j += member.team_size()) s += f(j);
    member.team_reduce(Kokkos::Sum<A>(s.first));
    member.team_reduce(Kokkos::Sum<A>(s.second));
    return s;
  }
  template <class F>
  KOKKOS_FUNCTION void once(F const& f) const {
    Kokkos::single(Kokkos::PerTeam(member), f);
  }
};

template <class Exec, class Body>
struct host_row_kernel {
  Body body;
  void operator()(index row) const { body(host_team{}, row); }
};

template <class Exec, class Body>
struct device_row_kernel {
  using member = typename Kokkos::TeamPolicy<Exec>::member_type;
  Body body;
  KOKKOS_FUNCTION void operator()(member const& m) const {
    body(device_team<member>{m}, static_cast<index>(m.league_rank()));
  }
};

/// Calls body(team, row) for `count` rows whose inner loops run to about n. The body is a class with a templated
/// KOKKOS_FUNCTION call operator.
template <class Exec, class Body>
void for_rows(char const* label, Exec const& exec, index count, index n, Body const& body) {
  if (count == 0) return;
  if constexpr (runs_on_host<Exec>) {
    launch_on_host(label, exec, count, count * n, host_row_kernel<Exec, Body>{body});
  } else {
    device_row_kernel<Exec, Body> const kernel{body};
    using policy = Kokkos::TeamPolicy<Exec>;
    int team = 32;
    while (team < 512 && index{4} * team < n) team *= 2;
    int const most = policy(exec, static_cast<int>(count), 1).team_size_max(kernel, Kokkos::ParallelForTag{});
    while (team > most) team /= 2;
    Kokkos::parallel_for(label, policy(exec, static_cast<int>(count), team), kernel);
  }
}

}  // namespace mtf::detail
