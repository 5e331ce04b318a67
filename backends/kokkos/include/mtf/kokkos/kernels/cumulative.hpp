#pragma once
// Running sums, products and maxima of rows, and what goes back through them. Long rows are taken in parts: first what
// each part comes to, then what comes before each, then the parts at once. Parts are made by sizes alone and not by the
// number of threads, so that results do not depend on it.
#include <algorithm>
#include <type_traits>

#include <mtf/backend/primitives/cumulative.hpp>
#include <mtf/kokkos/kernels/runs.hpp>
#include <mtf/kokkos/launch/elements.hpp>
#include <mtf/kokkos/launch/team.hpp>
#include <mtf/kokkos/launch/transpose_block.hpp>
#include <mtf/kokkos/runtime/compiled.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// Rows in parts: `count` of them, of `length` elements, the last of which may be shorter.
struct row_parts {
  index length, count;
  constexpr row_parts(rows const& r, index of_length, bool several)
      : length(several && r.n > 2 * of_length ? of_length
               : r.n > 0                      ? r.n
                                              : 1),
        count(r.n > 0 ? ceil_div(r.n, length) : 1) {}
};

/// Neighbouring rows of one part, as one piece of work goes through them: at most Width.
template <class Run, index Width>
struct run_strip {
  using state = typename Run::state;
  rows of;
  bool reverse;
  row_parts parts;
  Run run;
  state* at_parts;  // [outer, parts, inner]: what each comes to, and then what comes before it; null: there is one
  index width;      // rows of a strip

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index strips() const { return (of.inner + most() - 1) / most(); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index items() const { return of.outer * parts.count * strips(); }
  struct piece {
    index o, part, i, width, begin, end;
  };
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION piece find(index item) const {
    index const strip = item % strips(), part = item / strips() % parts.count, o = item / strips() / parts.count;
    index const i = strip * most(), begin = part * parts.length, end = begin + parts.length;
    return {o, part, i, of.inner - i < most() ? of.inner - i : most(), begin, end < of.n ? end : of.n};
  }
  /// f(place in memory, position) of the first column, for each row of elements.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void along(piece const& p, F const& f) const {
    for (index k = p.begin; k < p.end; ++k) {
      index const j = reverse ? of.n - 1 - k : k;
      f(p.o * of.step() + j * of.inner + p.i, j);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void find_totals(index item, state* totals) const {
    piece const p = find(item);
    state s[Width];
    for (index c = 0; c < p.width; ++c) s[c] = Run::nothing();
    along(p, [&](index at, index j) {
      in_chunks(p.width, [&](index c) { s[c] = Run::joined(s[c], run.element(at + c, j)); });
    });
    for (index c = 0; c < p.width; ++c) totals[(p.o * parts.count + p.part) * of.inner + p.i + c] = s[c];
  }
  KOKKOS_FORCEINLINE_FUNCTION void go(index item) const {
    piece const p = find(item);
    state s[Width];
    for (index c = 0; c < p.width; ++c)
      s[c] = at_parts != nullptr ? at_parts[(p.o * parts.count + p.part) * of.inner + p.i + c]
                                 : run.begin(p.o * of.inner + p.i + c);
    along(p, [&](index at, index j) {
      in_chunks(p.width, [&](index c) {
        state const next = Run::joined(s[c], run.element(at + c, j));
        run.put(at + c, j, s[c], next);
        s[c] = next;
      });
    });
  }

 private:
  static constexpr index chunk = Width < 64 ? Width : 64;  // a constant, so that compilers see whole vectors

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION index most() const { return Width == 1 ? 1 : width; }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION static void in_chunks(index n, F const& f) {
    index begin = 0;
    for (; begin + chunk <= n; begin += chunk) {
      MTF_SIMD
      for (index c = 0; c < chunk; ++c) f(begin + c);
    }
    MTF_SIMD
    for (index c = begin; c < n; ++c) f(c);
  }
};

template <class Strip>
struct run_strip_body {
  Strip strip;
  KOKKOS_FUNCTION void operator()(index item) const { strip.go(item); }
};
template <class Strip>
struct total_strip_body {
  Strip strip;
  typename Strip::state* totals;
  KOKKOS_FUNCTION void operator()(index item) const { strip.find_totals(item, totals); }
};
/// For the host, where elements of a row are neighbours: some rows at once, each in a lane of vectors, as a row by
/// itself waits for each of its sums. Elements come through a tile, in which those of one position are neighbours.
/// Lanes without a row compute too, so that how many rows go together changes no bit.
template <class Run>
struct run_lanes {
  using state = typename Run::state;
  static constexpr index lanes = 16, length = 32;  // of a tile
  rows of;
  bool reverse;
  row_parts parts;
  Run run;
  state* at_parts;
  index height;  // rows at once, at most `lanes`

  [[nodiscard]] index items() const { return ceil_div(of.outer, height) * parts.count; }
  /// As run_strip's; with totals, what each comes to and nothing else.
  template <bool Totals>
  void go(index item, state* totals) const {
    index const part = item % parts.count, row = item / parts.count * height, count = std::min(height, of.outer - row);
    index const begin = part * parts.length, end = std::min(begin + parts.length, of.n);
    state s[lanes];
    for (index c = 0; c < lanes; ++c) s[c] = Run::nothing();
    if constexpr (!Totals)
      for (index c = 0; c < count; ++c)
        s[c] = at_parts != nullptr ? at_parts[(row + c) * parts.count + part] : run.begin(row + c);
    typename Run::template tile<lanes * length> tile;
    for (index k = begin; k < end; k += length) {
      index const m = std::min(length, end - k), first = reverse ? of.n - k - m : k;
      place const at{of.step(), row * of.step() + first, count, m};
      Run const inside = run.on(tile, bring{at, reverse ? -length : length});
      for (index i = 0; i < m; ++i) {
        index const in_tile = reverse ? m - 1 - i : i, j = first + in_tile;
        MTF_SIMD
        for (index c = 0; c < lanes; ++c) {
          state const next = Run::joined(s[c], inside.element(in_tile * lanes + c, j));
          if constexpr (!Totals) inside.put(in_tile * lanes + c, j, s[c], next);
          s[c] = next;
        }
      }
      if constexpr (!Totals) run.give(tile, back{at});
    }
    if constexpr (Totals)
      for (index c = 0; c < count; ++c) totals[(row + c) * parts.count + part] = s[c];
  }

 private:
  /// Where a tile's elements are: `m` of each of `count` rows.
  struct place {
    index step, begin, count, m;
    template <class X>
    [[nodiscard]] bool in_blocks() const {
      return has_block_transpose && sizeof(X) > 1 && count == lanes && m == length;
    }
  };
  struct bring {
    place at;
    index to_next;
    template <class X>
    void operator()(X* to, X const* all) const {
      if (all == nullptr) return;  // what this run does not read
      X const* const from = all + at.begin;
      if (at.template in_blocks<X>()) {
        for (index c = 0; c < lanes; ++c)
          for (index k = 0; k < length; k += 64 / static_cast<index>(sizeof(X)))
            __builtin_prefetch(from + c * at.step + to_next + k);
        for (index c = 0; c < lanes; c += 8)
          for (index k = 0; k < length; k += 8)
            transpose_block(to + k * lanes + c, lanes, from + c * at.step + k, at.step);
      } else {
        for (index c = 0; c < at.count; ++c)
          for (index k = 0; k < at.m; ++k) to[k * lanes + c] = from[c * at.step + k];
      }
    }
  };
  struct back {
    place at;
    template <class X>
    void operator()(X* all, X const* from) const {
      X* const to = all + at.begin;
      if (at.template in_blocks<X>()) {
        for (index c = 0; c < lanes; c += 8)
          for (index k = 0; k < length; k += 8)
            transpose_block(to + c * at.step + k, at.step, from + k * lanes + c, lanes);
      } else {
        for (index c = 0; c < at.count; ++c)
          for (index k = 0; k < at.m; ++k) to[c * at.step + k] = from[k * lanes + c];
      }
    }
  };
};
template <class Lanes, bool Totals>
struct run_lanes_body {
  Lanes rows;
  typename Lanes::state* totals;
  void operator()(index item) const { rows.template go<Totals>(item, totals); }
};

/// What comes before each part, in place of what it comes to; and what all of a row come to, if that is wanted.
template <class Run>
struct join_parts_body {
  using state = typename Run::state;
  index parts, inner;
  Run run;
  bool from_nothing;
  state* at_parts;
  state* totals;
  KOKKOS_FUNCTION void operator()(index row) const {
    index const o = row / inner, i = row % inner;
    state s = from_nothing ? Run::nothing() : run.begin(row);
    for (index p = 0; p < parts; ++p) {
      state& part = at_parts[(o * parts + p) * inner + i];
      state const own = part;
      part = s;
      s = Run::joined(s, own);
    }
    if (totals != nullptr) totals[row] = s;
  }
};

/// How a warp's lanes join what they have: `from` is earlier.
template <class Run>
class joined_in_order {
 public:
  using reducer = joined_in_order;
  using value_type = typename Run::state;
  using result_view_type = Kokkos::View<value_type, Kokkos::AnonymousSpace, Kokkos::MemoryUnmanaged>;

  KOKKOS_FUNCTION explicit joined_in_order(value_type& value) : value_(&value) {}
  KOKKOS_FUNCTION void join(value_type& to, value_type const& from) const { to = Run::joined(from, to); }
  KOKKOS_FUNCTION void init(value_type& value) const { value = Run::nothing(); }
  [[nodiscard]] KOKKOS_FUNCTION value_type& reference() const { return *value_; }
  [[nodiscard]] KOKKOS_FUNCTION result_view_type view() const { return result_view_type(value_); }
  [[nodiscard]] KOKKOS_FUNCTION bool references_scalar() const { return true; }

 private:
  value_type* value_;
};

/// For devices, where elements of a row are neighbours: a warp goes through a part. (What a scan comes to its last
/// element says: on the host Kokkos does not give it to the reducer.)
template <class Strip, class Run, bool Totals>
struct warp_run_body {
  using state = typename Run::state;
  Strip strip;
  state* totals;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team, index item) const {
    auto const p = strip.find(item);
    auto const s = strip;
    index const n = p.end - p.begin, row = p.o;
    state* const total = totals + item;
    if constexpr (Totals)
      if (n == 0) return team.once([=] { *total = Run::nothing(); });
    state unused = Run::nothing(), first = Run::nothing();
    if constexpr (!Totals) first = s.at_parts != nullptr ? s.at_parts[item] : s.run.begin(row);
    Kokkos::parallel_scan(
        Kokkos::ThreadVectorRange(team.member, n),
        [&](index k, state& so_far, bool last) {
          index const j = s.reverse ? s.of.n - 1 - (p.begin + k) : p.begin + k, at = row * s.of.step() + j;
          state const next = Run::joined(so_far, s.run.element(at, j));
          if constexpr (Totals) {
            if (last && k == n - 1) *total = next;
          } else {
            if (last) s.run.put(at, j, Run::joined(first, so_far), Run::joined(first, next));
          }
          so_far = next;
        },
        joined_in_order<Run>(unused));
  }
};

/// A run's launches on rows, in parts or not.
template <class Exec, class Run>
class run_launcher {
 public:
  using state = typename Run::state;
  static constexpr index width = runs_on_host<Exec> ? 64 : 1;  // by which parts are made
  using strip = run_strip<Run, runs_on_host<Exec> ? 512 : 1>;

  run_launcher(device<Exec>& on, char const* label, rows const& of, bool reverse, Run const& run)
      : on_(on), label_(label), of_(of), reverse_(reverse), run_(run) {}
  void go() const {
    if (of_.count() == 0 || of_.n == 0) return;
    row_parts const parts(of_, length(), in_parts());
    strip s{of_, reverse_, parts, run_, nullptr, columns(parts)};
    if (parts.count == 1) return launch<false>(s, run_strip_body<strip>{s}, nullptr);
    workspace<state, Exec> const before(on_, of_.count() * parts.count);
    s.at_parts = before.get();
    launch<true>(s, total_strip_body<strip>{s, before.get()}, before.get());
    join(parts, false, before.get(), nullptr);
    launch<false>(s, run_strip_body<strip>{s}, nullptr);
  }
  /// What each row comes to.
  void find_totals(state* totals) const {
    if (of_.count() == 0) return;
    row_parts const parts(of_, length(), in_parts());
    strip const s{of_, reverse_, parts, run_, nullptr, columns(parts)};
    if (parts.count == 1) return launch<true>(s, total_strip_body<strip>{s, totals}, totals);
    workspace<state, Exec> const of_parts(on_, of_.count() * parts.count);
    launch<true>(s, total_strip_body<strip>{s, of_parts.get()}, of_parts.get());
    join(parts, true, of_parts.get(), totals);
  }

 private:
  /// Pieces of work for some threads, or for a device's.
  [[nodiscard]] bool in_parts() const {
    return runs_on_host<Exec> ? of_.outer * ceil_div(of_.inner, width) < 64 : of_.count() < 16384;
  }
  /// Rows of a strip: wide ones are read in long runs, but there is to be some work for each thread.
  [[nodiscard]] index columns(row_parts const& parts) const {
    if constexpr (runs_on_host<Exec>) {
      index const each = of_.count() * parts.count / (4 * static_cast<index>(on_.exec.concurrency()));
      return std::clamp<index>(ceil_div(each, width) * width, 64, 512);
    } else {
      return 1;
    }
  }
  [[nodiscard]] index length() const {
    if constexpr (runs_on_host<Exec>)
      return std::max<index>(64, host_grain / std::min(of_.inner, width));
    else
      return of_.inner == 1 ? 1024 : 64;
  }
  template <bool Totals, class Body>
  void launch(strip const& s, Body const& body, state* totals) const {
    if constexpr (runs_on_host<Exec>) {
      if (of_.inner > 1) return launch_on_host(label_, on_.exec, s.items(), of_.count() * of_.n, body);
      using lanes = run_lanes<Run>;
      // As many as leave some work to each thread; results do not depend on that.
      index const each = of_.outer * s.parts.count / (4 * static_cast<index>(on_.exec.concurrency()));
      lanes const l{of_, reverse_, s.parts, run_, s.at_parts, std::clamp<index>(each, 1, lanes::lanes)};
      launch_on_host(label_, on_.exec, l.items(), of_.count() * of_.n, run_lanes_body<lanes, Totals>{l, totals});
    } else if (of_.inner == 1)
      for_rows_on_device<true>(label_, on_.exec, s.items(), 8, warp_run_body<strip, Run, Totals>{s, totals});
    else
      Kokkos::parallel_for(label_, range_policy<Exec>(on_.exec, 0, s.items()), body);
  }
  void join(row_parts const& parts, bool from_nothing, state* at_parts, state* totals) const {
    join_parts_body<Run> const body{parts.count, of_.inner, run_, from_nothing, at_parts, totals};
    if constexpr (runs_on_host<Exec>)
      launch_on_host(label_, on_.exec, of_.count(), of_.count() * parts.count, body);
    else
      Kokkos::parallel_for(label_, range_policy<Exec>(on_.exec, 0, of_.count()), body);
  }

  device<Exec>& on_;
  char const* label_;
  rows of_;
  bool reverse_;
  Run run_;
};

template <class Exec, class T, class R>
void compute(device<Exec>& on, primitives::run_along<T, R> const& p) {
  by_constant(p.by, [&](auto by) {
    using run = run_of<by.value, T, R>;
    run_launcher<Exec, run>(on, p.name, p.of, p.reverse, run{p.out, p.x, p.before, p.exclusive}).go();
  });
}
template <class Exec, class T, class R>
void compute(device<Exec>& on, primitives::run_totals<T, R> const& p) {
  by_constant(p.by, [&](auto by) {
    using run = run_of<by.value, T, R>;
    run_launcher<Exec, run>(on, p.name, p.of, false, run{nullptr, p.x, nullptr, false}).find_totals(p.out);
  });
}
/// A run of what goes back through another; of sums there is none.
template <class Exec, class T, class F>
void with_vjp(device<Exec>& on, char const* label, primitives::run_vjp_of<T> const& of, T* dx,
              compute_t<T> const* arrives, F const& f) {
  if (of.by == primitives::running::product) {
    using run = vjp_of_run<primitives::running::product, T>;
    f(run_launcher<Exec, run>(on, label, of.of, !of.reverse, run{of, dx, arrives}));
  } else {
    using run = vjp_of_run<primitives::running::max, T>;
    f(run_launcher<Exec, run>(on, label, of.of, !of.reverse, run{of, dx, arrives}));
  }
}
template <class Exec, class T>
void compute(device<Exec>& on, primitives::run_vjp<T> const& p) {
  with_vjp(on, p.name, p.of, p.dx, p.arrives, [](auto const& run) { run.go(); });
}

template <class A>
struct split_states_body {
  index n;
  A* out;
  handed_on<A> const* from;
  KOKKOS_FUNCTION void operator()(index i) const {
    out[i] = from[i].factor;
    out[n + i] = from[i].summand;
  }
};
template <class Exec, class T>
void compute(device<Exec>& on, primitives::run_vjp_totals<T> const& p) {
  using A = compute_t<T>;
  index const n = p.of.of.count();
  workspace<handed_on<A>, Exec> const states(on, n);
  with_vjp(on, p.name, p.of, static_cast<T*>(nullptr), static_cast<A const*>(nullptr),
           [&](auto const& run) { run.find_totals(states.get()); });
  for_elements(p.name, on.exec, n, split_states_body<A>{n, p.out, states.get()});
}

template <primitives::running By, class A>
struct join_runs_body {
  A* x;
  A const* earlier;
  KOKKOS_FUNCTION void operator()(index i) const { x[i] = run_op<By>::of(earlier[i], x[i]); }
};
template <primitives::running By, class A>
struct join_run_vjps_body {
  using run = vjp_of_run<By, A>;
  index n;
  A* x;
  A const* earlier;
  KOKKOS_FUNCTION void operator()(index i) const {
    auto const both = run::joined({earlier[i], earlier[n + i]}, {x[i], x[n + i]});
    x[i] = both.factor;
    x[n + i] = both.summand;
  }
};
template <class Exec, class A>
void compute(device<Exec>& on, primitives::join_runs<A> const& p) {
  by_constant(p.by, [&](auto by) { for_elements(p.name, on.exec, p.n, join_runs_body<by.value, A>{p.x, p.earlier}); });
}
template <class Exec, class A>
void compute(device<Exec>& on, primitives::join_run_vjps<A> const& p) {
  using primitives::running;
  if (p.by == running::product)
    for_elements(p.name, on.exec, p.n, join_run_vjps_body<running::product, A>{p.n, p.x, p.earlier});
  else
    for_elements(p.name, on.exec, p.n, join_run_vjps_body<running::max, A>{p.n, p.x, p.earlier});
}

MTF_COMPILED(device, run_along)
MTF_COMPILED(device, run_totals)
MTF_COMPILED(device, run_vjp)
MTF_COMPILED(device, run_vjp_totals)

}  // namespace mtf::kokkos
