#pragma once
// Kernels over rows, written once: the body gets a team and a row, and spells its inner loops with the team's `each`,
// `sum` and `max`. On the host the team is one thread and the loops are SIMD loops; on a device the loops are spread
// over the lanes of a warp, those of long rows over the threads of a block. Thread t of a team always has the same
// elements j of a row, so a body may read in one loop what it wrote at the same j in an earlier one.
//
// A sum that computes more than it loads may name rows that are accessed next (`next`). The host prefetches them
// meanwhile; otherwise the memory would be idle during the sum, and the processor at the start of the next row. Rows
// that will be written (pointers to non-const) are prefetched for writing: a line that another processor has read too
// can otherwise not be written at once.
#include <limits>

#include <mtf/kokkos/launch/packed.hpp>
#include <mtf/kokkos/runtime/device.hpp>
#include <mtf/math/fast_math.hpp>

namespace mtf::kokkos {

/// Two sums taken in one loop.
template <class A>
struct two {
  A first, second;
  KOKKOS_FORCEINLINE_FUNCTION friend constexpr two operator+(two a, two b) {
    return {a.first + b.first, a.second + b.second};
  }
  KOKKOS_FORCEINLINE_FUNCTION constexpr two& operator+=(two b) { return *this = *this + b; }
};

/// How two values combine, with the neutral element. max_op passes over NaN (kernels/reduce.hpp has maxima and minima
/// of which NaN is one).
struct sum_op {
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A neutral() {
    return {};
  }
  template <class A>
  KOKKOS_FORCEINLINE_FUNCTION static constexpr A of(A a, A b) {
    return a + b;
  }
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
};

// Inlined by force, and with the function object by value: GCC vectorizes a reduction only where it sees that nothing
// the function object holds changes in the loop. Reductions have their lanes by hand: Clang takes no maximum of
// floating numbers for a reduction, and GCC adds the lanes of a sum one after the other at the end, which for short
// rows takes longer than the loop.
template <class Op, class A>
class lanes_of {
 public:
  static constexpr index count = 128 / static_cast<index>(sizeof(A));

  MTF_FUNCTION lanes_of() {
    for (A& p : part_) p = Op::template neutral<A>();
  }
  MTF_FUNCTION void take(index lane, A x) { part_[lane] = Op::of(part_[lane], x); }
  /// All lanes and `rest` together.
  [[nodiscard]] MTF_FUNCTION A result(A rest) {
    halve<count / 2>();
    return Op::of(rest, part_[0]);
  }

 private:
  template <index Half>
  MTF_FUNCTION void halve() {
    MTF_SIMD
    for (index l = 0; l < Half; ++l) part_[l] = Op::of(part_[l], part_[l + Half]);
    if constexpr (Half > 1) halve<Half / 2>();
  }
  A part_[count];
};

struct host_team {
  static constexpr bool alone = true;  // one thread
  template <class F>
  MTF_FUNCTION void each(index n, F f) const {
    MTF_SIMD
    for (index j = 0; j < n; ++j) f(j);
  }
  template <class Op, class A, class F, class... T>
  [[nodiscard]] MTF_FUNCTION A reduce(index n, F f, T*... next) const {
    lanes_of<Op, A> part;
    constexpr index lanes = lanes_of<Op, A>::count;
    index j = 0;
    for (; j + lanes <= n; j += lanes) {
      (fetch<lanes>(next + j), ...);
      MTF_SIMD
      for (index l = 0; l < lanes; ++l) part.take(l, f(j + l));
    }
    if (j + lanes / 2 <= n) {
      MTF_SIMD
      for (index l = 0; l < lanes / 2; ++l) part.take(l, f(j + l));
      j += lanes / 2;
    }
    A rest = Op::template neutral<A>();
    for (; j < n; ++j) rest = Op::of(rest, f(j));
    return part.result(rest);
  }
  template <class A, class F, class... T>
  [[nodiscard]] MTF_FUNCTION A sum(index n, F f, T*... next) const {
    return reduce<sum_op, A>(n, f, next...);
  }
  template <class A, class F>
  [[nodiscard]] MTF_FUNCTION A max(index n, F f) const {
    return reduce<max_op, A>(n, f);
  }
  /// f returns two<A>.
  template <class A, class F, class... T>
  [[nodiscard]] MTF_FUNCTION two<A> sum2(index n, F f, T*... next) const {
    lanes_of<sum_op, A> first, second;
    constexpr index lanes = lanes_of<sum_op, A>::count / 2;
    index j = 0;
    for (; j + lanes <= n; j += lanes) {
      (fetch<lanes>(next + j), ...);
      MTF_SIMD
      for (index l = 0; l < lanes; ++l) {
        two<A> const x = f(j + l);
        first.take(l, x.first);
        second.take(l, x.second);
      }
    }
    two<A> rest{A(0), A(0)};
    for (; j < n; ++j) rest += f(j);
    return {first.result(rest.first), second.result(rest.second)};
  }
  /// Op over f(x) of a row's elements x.
  template <class Op, class A, class T, class F, class... Next>
  [[nodiscard]] MTF_FUNCTION A reduce_row(index n, T const* in, F f, Next*... next) const {
    return reduce<Op, A>(n, [=](index j) MTF_INLINE_LAMBDA { return f(load(in[j])); }, next...);
  }
  /// out[j] = f(j, x...) of the elements x that rows have at j. `out` may be one of them.
  template <class T, class F, class... In>
  MTF_FUNCTION void write_row(index n, T* out, F f, In const*... in) const {
    each(n, [=](index j) MTF_INLINE_LAMBDA { out[j] = convert<T>(f(j, load(in[j])...)); });
  }
  /// f(), by one thread of the team.
  template <class F>
  MTF_FUNCTION void once(F f) const {
    f();
  }

 private:
  template <index Elements, class T>
  MTF_FUNCTION static void fetch(T* p) {
    constexpr index bytes = Elements * static_cast<index>(sizeof(T)), line = 64;
    for (index b = 0; b < bytes; b += line)
      __builtin_prefetch(reinterpret_cast<char const*>(p) + b, std::is_const_v<T> ? 0 : 1);
  }
};

/// How Kokkos combines what threads have.
template <class Op, class A>
class combined_by {
 public:
  using reducer = combined_by;
  using value_type = A;
  using result_view_type = Kokkos::View<A, Kokkos::AnonymousSpace, Kokkos::MemoryUnmanaged>;

  KOKKOS_FUNCTION explicit combined_by(A& value) : value_(&value) {}
  KOKKOS_FUNCTION void join(A& to, A const& from) const { to = Op::of(to, from); }
  KOKKOS_FUNCTION void init(A& value) const { value = Op::template neutral<A>(); }
  [[nodiscard]] KOKKOS_FUNCTION A& reference() const { return *value_; }
  [[nodiscard]] KOKKOS_FUNCTION result_view_type view() const { return result_view_type(value_); }
  [[nodiscard]] KOKKOS_FUNCTION bool references_scalar() const { return true; }

 private:
  A* value_;
};

/// A row's threads on a device: a whole team, or, with Lanes, the vector lanes of one of its threads, a warp, which
/// wait for no other.
template <class Member, bool Lanes>
struct device_team {
  Member const& member;

  /// What this thread has of the elements from `begin` to `end`.
  template <class Op, class A, class F>
  KOKKOS_FORCEINLINE_FUNCTION A part_of(index begin, index end, F const& f) const {
    A part = Op::template neutral<A>();
    for (index j = begin + member.team_rank(); j < end; j += member.team_size()) part = Op::of(part, f(j));
    return part;
  }

  template <class F>
  KOKKOS_FUNCTION void each(index n, F const& f) const {
    if constexpr (Lanes)
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, n), f);
    else
      for (index j = member.team_rank(); j < n; j += member.team_size()) f(j);
  }
  template <class Op, class A, class F, class... T>
  [[nodiscard]] KOKKOS_FUNCTION A reduce(index n, F const& f, T*... /*next*/) const {
    A s = Op::template neutral<A>();
    combined_by<Op, A> const all(s);
    if constexpr (Lanes) {
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(member, n), [&](index j, A& part) { part = Op::of(part, f(j)); }, all);
    } else {
      // In blocks: the error of what a thread adds up one after the other grows with the number of terms.
      index const step = member.team_size(), block = 64 * step;
      index from = 0;
      for (; from + block < n; from += block) s = Op::of(s, part_of<Op, A>(from, from + block, f));
      s = Op::of(s, part_of<Op, A>(from, n, f));
      member.team_reduce(all);
    }
    return s;
  }
  template <class A, class F, class... T>
  [[nodiscard]] KOKKOS_FUNCTION A sum(index n, F const& f, T*... /*next*/) const {
    return reduce<sum_op, A>(n, f);
  }
  template <class A, class F>
  [[nodiscard]] KOKKOS_FUNCTION A max(index n, F const& f) const {
    return reduce<max_op, A>(n, f);
  }
  template <class A, class F, class... T>
  [[nodiscard]] KOKKOS_FUNCTION two<A> sum2(index n, F const& f, T*... /*next*/) const {
    return reduce<sum_op, two<A>>(n, f);
  }
#if MTF_HAS_DEVICES
  /// In packs, which are loaded at once where the row begins as packs do; so its place in memory does not change how
  /// its elements are added up.
  template <class Op, class A, class T, class F, class... Next>
  [[nodiscard]] KOKKOS_FUNCTION A reduce_row(index n, T const* in, F const& f, Next*... /*next*/) const {
    constexpr int width = pack_width<T>;
    index const packs = n / width, rest = n - packs * width;
    bool const whole = begins_whole<width>(in);
    A all = Op::template neutral<A>();
    if (packs > 0)
      all = reduce<Op, A>(packs, [&](index p) {
        auto const x = load_pack<width>(in + p * width, 1, width, whole);
        A part[width];
        for (int v = 0; v < width; ++v) part[v] = f(load(x.x[v]));
        for (int half = width / 2; half > 0; half /= 2)
          for (int v = 0; v < half; ++v) part[v] = Op::of(part[v], part[v + half]);
        return part[0];
      });
    if (rest > 0) all = Op::of(all, reduce<Op, A>(rest, [&](index j) { return f(load(in[packs * width + j])); }));
    return all;
  }
  template <class T, class F, class... In>
  KOKKOS_FUNCTION void write_row(index n, T* out, F const& f, In const*... in) const {
    constexpr int width = pack_width<T, In...>;
    index const packs = begins_whole<width>(out) && (begins_whole<width>(in) && ...) ? n / width : 0;
    each(packs,
         [&](index p) { write_pack<width>(p * width, out, f, load_pack<width>(in + p * width, 1, width, true)...); });
    each(n - packs * width, [&](index rest) {
      index const j = packs * width + rest;
      out[j] = convert<T>(f(j, load(in[j])...));
    });
  }
#endif
  /// f(k, j) for the packs of V of n elements that this thread has, of at most K; j is a pack's first element. They are
  /// the same in every call, so that what is known of the k-th stays in registers.
  template <int K, int V, class F>
  KOKKOS_FORCEINLINE_FUNCTION void each_own(index n, F const& f) const {
    for (int k = 0; k < K; ++k)
      if (index const j = (member.team_rank() + index{k} * member.team_size()) * V; j < n) f(k, j);
  }
  /// The sum of what all threads have.
  template <class A>
  [[nodiscard]] KOKKOS_FUNCTION A sum_of_threads(A part) const {
    member.team_reduce(combined_by<sum_op, A>(part));
    return part;
  }
  template <class F>
  KOKKOS_FUNCTION void once(F const& f) const {
    if constexpr (Lanes)
      Kokkos::single(Kokkos::PerThread(member), f);
    else
      Kokkos::single(Kokkos::PerTeam(member), f);
  }

#if MTF_HAS_DEVICES
 private:
  template <int V, class T, class F, class... In>
  KOKKOS_FORCEINLINE_FUNCTION static void write_pack(index j, T* out, F const& f, pack<In, V> const&... x) {
    pack<T, V> y;
    for (int v = 0; v < V; ++v) y.x[v] = convert<T>(f(j + v, load(x.x[v])...));
    store_pack<V>(out + j, 1, V, true, y);
  }
#endif
};

template <class Exec, class Body>
struct host_row_kernel {
  Body body;
  void operator()(index row) const { body(host_team{}, row); }
};

template <class Exec, class Body, bool Lanes>
struct device_row_kernel {
  using member = typename Kokkos::TeamPolicy<Exec>::member_type;
  Body body;
  index count;

  KOKKOS_FUNCTION void operator()(member const& m) const {
    index row = m.league_rank();
    if constexpr (Lanes) row = row * m.team_size() + m.team_rank();
    if (row < count) body(device_team<member, Lanes>{m}, row);
  }
};

/// The most threads that a team of a kernel has, with so many lanes each: what a kernel's registers leave room for. A
/// device is asked once for a kernel: that takes longer than a launch. A host's partitions differ.
template <int Lanes, class Exec, class Kernel>
int most_threads(Exec const& exec, Kernel const& kernel) {
  auto const ask = [&] {
    return Kokkos::TeamPolicy<Exec>(exec, 1, 1, Lanes).team_size_max(kernel, Kokkos::ParallelForTag{});
  };
  if constexpr (host_accessible<Exec>) {
    return ask();
  } else {
    static int const most = ask();
    return most;
  }
}

/// Calls a body for `count` rows on a device, by teams of `threads`, or as many as fit; with Lanes, each with the lanes
/// of a warp.
template <bool Lanes, class Exec, class Body>
void for_rows_on_device(char const* label, Exec const& exec, index count, int threads, Body const& body) {
  using policy = Kokkos::TeamPolicy<Exec>;
  constexpr int lanes = Lanes ? 32 : 1;
  device_row_kernel<Exec, Body, Lanes> const kernel{body, count};
  int const most = most_threads<lanes>(exec, kernel);
  while (threads > most) threads /= 2;
  auto const teams = static_cast<int>(Lanes ? ceil_div(count, threads) : count);
  Kokkos::parallel_for(label, policy(exec, teams, threads, lanes), kernel);
}

/// Calls a body for `count` blocks by teams of so many threads; false: a team has not so many.
template <class Exec, class Body>
bool for_blocks_by_teams_of(int threads, char const* label, Exec const& exec, index count, Body const& body) {
  using policy = Kokkos::TeamPolicy<Exec>;
  device_row_kernel<Exec, Body, false> const kernel{body, count};
  if (most_threads<1>(exec, kernel) < threads) return false;
  Kokkos::parallel_for(label, policy(exec, static_cast<int>(count), threads), kernel);
  return true;
}

/// Calls body(team, row) for `count` rows whose inner loops run to about n. The body is a class with a templated
/// KOKKOS_FUNCTION call operator.
template <class Exec, class Body>
void for_rows(char const* label, Exec const& exec, index count, index n, Body const& body) {
  if (count == 0) return;
  if constexpr (runs_on_host<Exec>) {
    launch_on_host(label, exec, count, count * n, host_row_kernel<Exec, Body>{body});
  } else {
    // A warp for each row, unless few rows are long.
    if (n <= 256 || (n <= 4096 && count >= 1024))
      for_rows_on_device<true>(label, exec, count, 8, body);
    else
      for_rows_on_device<false>(label, exec, count, n <= 1024 ? 256 : 512, body);
  }
}

/// The same for a body that runs its inner loops many times: a whole team on a device.
template <class Exec, class Body>
void for_blocks_of_rows(char const* label, Exec const& exec, index count, index n, Body const& body) {
  if constexpr (runs_on_host<Exec>)
    for_rows(label, exec, count, n, body);
  else if (count > 0)
    for_rows_on_device<false>(label, exec, count, n <= 512 ? 128 : 256, body);
}

}  // namespace mtf::kokkos
