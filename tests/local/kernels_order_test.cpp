// Running sums, products and maxima, rows in order, and tables of a batch, on shards: against plain loops.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

using primitives::running;

/// Rows of all kinds: short, in parts, of one column and of many, with pads.
constexpr rows shapes[]{{3, 5, 1},          {1, 1, 4},    {2, 7, 3, 9},    {1, 20000, 1},   {2, 3000, 5},
                        {1, 700, 130, 704}, {200, 33, 2}, {40, 64, 1, 67}, {300, 70, 1, 73}};

template <class T>
double within() {
  return std::is_same_v<T, double> ? 1e-12 : std::is_same_v<T, float> ? 2e-4 : std::is_integral_v<T> ? 0 : 2e-2;
}
double together(running by, double a, double b) {
  if (by == running::sum) return a + b;
  if (by == running::product) return a * b;
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}
double of_nothing(running by) { return by == running::sum ? 0 : by == running::product ? 1 : -HUGE_VAL; }
bool close(double x, double want, double tolerance) {
  if (std::isnan(want)) return std::isnan(x);
  return x == want || std::abs(x - want) <= tolerance * std::max(1.0, std::abs(want));
}
/// f(places of a row's elements in the run's direction, row).
template <class F>
void each_run(rows const& r, bool reverse, F const& f) {
  for (index row = 0; row < r.count(); ++row) {
    std::vector<std::size_t> at;
    for (index j = 0; j < r.n; ++j)
      at.push_back(size(row / r.inner * r.step() + (reverse ? r.n - 1 - j : j) * r.inner + row % r.inner));
    f(at, size(row));
  }
}
index memory_of(rows const& r) { return r.outer * r.step(); }
/// Numbers whose products stay near 1.
std::vector<double> factors(index n, unsigned seed) {
  auto x = numbers(n, seed);
  for (double& v : x) v = 1 + v / 1000;
  return x;
}
/// All directions.
template <class F>
void each_way(F const& f) {
  for (bool const reverse : {false, true})
    for (bool const exclusive : {false, true}) {
      CAPTURE(reverse);
      CAPTURE(exclusive);
      f(reverse, exclusive);
    }
}

TEST_CASE_TEMPLATE("runs along rows", T, float, double, bfloat16, std::int32_t) {
  for (auto const& r : shapes)
    for (auto const by : {running::sum, running::product, running::max}) {
      if (by == running::product && std::is_integral_v<T>) continue;
      using R = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
      using A = compute_t<R>;
      CAPTURE(r.n);
      auto given = by == running::product ? factors(memory_of(r), 1) : numbers(memory_of(r), 1);
      if (by == running::max && !std::is_integral_v<T>) given[given.size() / 2] = std::nan("");
      array<T> const x(given);
      auto const before = by == running::product ? factors(r.count(), 2) : numbers(r.count(), 2);
      array<A> const carry(before);
      auto const in = x.host();
      auto const from = carry.host();
      each_way([&](bool reverse, bool exclusive) {
        for (bool const carried : {false, true}) {
          array<R> const out(memory_of(r));
          array<A> const totals(r.count());
          device().run(primitives::run_along<T, R>{by, r, reverse, exclusive, out.get(), x.get(),
                                                   carried ? carry.get() : nullptr});
          device().run(primitives::run_totals<T, R>{by, r, totals.get(), x.get()});
          auto const found = out.host(), all = totals.host();
          int wrong = 0;
          each_run(r, reverse, [&](auto const& at, std::size_t row) {
            double so_far = carried ? from[row] : of_nothing(by), total = of_nothing(by);
            for (std::size_t const i : at) {
              double const after = together(by, so_far, in[i]);
              double want = exclusive ? so_far : after;
              if (std::is_integral_v<T> && std::isinf(want)) want = std::numeric_limits<std::int64_t>::lowest();
              wrong += close(found[i], want, within<T>()) ? 0 : 1;
              so_far = after;
              total = together(by, total, in[i]);
            }
            wrong += close(all[row], total, within<T>()) ? 0 : 1;
          });
          CHECK(wrong == 0);
        }
      });
    }
}

TEST_CASE_TEMPLATE("what goes back through runs", T, float, double, bfloat16) {
  using A = compute_t<T>;
  for (auto const& r : shapes)
    for (auto const by : {running::product, running::max})
      each_way([&](bool reverse, bool exclusive) {
        CAPTURE(r.n);
        auto given = by == running::product ? factors(memory_of(r), 1) : numbers(memory_of(r), 1);
        if (by == running::product) given[given.size() / 3] = 0;
        array<T> const x(given), dy(numbers(memory_of(r), 3)), dx(memory_of(r));
        array<A> const before(memory_of(r)), arrives(numbers(r.count(), 4)), parts(2 * r.count());
        device().run(primitives::run_along<T, A>{by, r, reverse, true, before.get(), x.get(), nullptr});
        primitives::run_vjp_of<T> const of{by, r, reverse, exclusive, true, false, x.get(), before.get(), dy.get()};
        device().run(primitives::run_vjp<T>{of, dx.get(), arrives.get()});
        device().run(primitives::run_vjp_totals<T>{of, parts.get()});
        auto const in = x.host(), so_far = before.host(), g = dy.host(), found = dx.host(), last = arrives.host(),
                   all = parts.host();
        double const bound = std::is_same_v<T, double> ? 1e-9 : std::is_same_v<T, float> ? 2e-2 : 0.1;
        int wrong = 0;
        each_run(r, !reverse, [&](auto const& at, std::size_t row) {
          double after = last[row], scale = std::abs(after);
          for (std::size_t k = 0; k < at.size(); ++k) {
            std::size_t const i = at[k];
            bool const is_new = k + 1 == at.size() || in[i] > so_far[i];
            double const at_own = exclusive ? after : g[i] + after;
            double const own = by == running::product ? so_far[i] : is_new ? 1 : 0;
            double const on = by == running::product ? in[i] : is_new ? 0 : 1;
            scale = std::max({scale, std::abs(at_own), 1.0});
            wrong += std::abs(found[i] - own * at_own) <= bound * scale ? 0 : 1;
            after = exclusive ? g[i] + on * after : on * at_own;
          }
          double const handed_on = all[row] * last[row] + all[size(r.count()) + row];
          wrong += std::abs(handed_on - after) <= bound * scale ? 0 : 1;
        });
        CHECK(wrong == 0);
      });
}

TEST_CASE_TEMPLATE("parts of runs are joined in their order", A, float, double) {
  index const n = 37;
  array<A> const x(numbers(n, 1)), earlier(numbers(n, 2)), both(numbers(2 * n, 3)), first(numbers(2 * n, 4));
  auto const a = x.host(), b = earlier.host(), f = both.host(), e = first.host();
  device().run(primitives::join_runs<A>{running::max, n, x.get(), earlier.get()});
  device().run(primitives::join_run_vjps<A>{running::product, n, both.get(), first.get()});
  auto const larger = x.host(), after = both.host();
  for (std::size_t i = 0; i < size(n); ++i) {
    CHECK(larger[i] == std::max(a[i], b[i]));
    CHECK(after[i] == doctest::Approx(f[i] * e[i]));
    CHECK(after[size(n) + i] == doctest::Approx(f[i] * e[size(n) + i] + f[size(n) + i]));
  }
}

TEST_CASE_TEMPLATE("rows in order", T, float, double, bfloat16, std::int32_t) {
  for (auto const& r : shapes) {
    CAPTURE(r.n);
    auto given = numbers(memory_of(r), 5);  // with ties
    if (!std::is_integral_v<T>)
      for (std::size_t i = 0; i < given.size(); i += 3) given[i] = i % 2 == 0 ? std::nan("") : i % 4 == 1 ? -0.0 : 0.0;
    array<T> const x(given), out(memory_of(r)), dx(memory_of(r)), dy(numbers(memory_of(r), 6));
    array<std::int32_t> const ids(memory_of(r));
    device().run(primitives::sort_rows<T>{r, out.get(), ids.get(), x.get()});
    device().run(primitives::sort_rows_vjp<T>{r, dx.get(), dy.get(), ids.get()});
    auto const in = x.host(), found = out.host(), at_ids = ids.host(), g = dy.host(), back = dx.host();
    int wrong = 0;
    each_run(r, false, [&](auto const& at, std::size_t) {
      std::vector<std::size_t> order(at.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, [&](std::size_t i, std::size_t j) {
        double const p = in[at[i]], q = in[at[j]];
        if (std::isnan(p) != std::isnan(q)) return std::isnan(q);
        return p < q || (!(q < p) && i < j);
      });
      for (std::size_t j = 0; j < at.size(); ++j) {
        double const want = in[at[order[j]]];
        bool const same = std::isnan(want) ? std::isnan(found[at[j]])
                                           : found[at[j]] == want && std::signbit(found[at[j]]) == std::signbit(want);
        wrong += same && at_ids[at[j]] == static_cast<double>(order[j]) && back[at[order[j]]] == g[at[j]] ? 0 : 1;
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE_TEMPLATE("rows of a batch of tables", T, float, double, bfloat16) {
  struct {
    index batch, count, width, vocab, offset, end;  // rows from `end` on are pads
  } const tables[]{
      {3, 5, 4, 6, 0, 6}, {4, 1, 1, 9, 3, 12}, {2, 70, 130, 8, 4, 12}, {2, 70, 3, 8, 4, 10}, {1, 9, 3, 4, 8, 6}};
  for (auto const& t : tables) {
    array<T> const table(numbers(t.batch * t.vocab * t.width, 1)), dy(numbers(t.batch * t.count * t.width, 2));
    array<T> const sums(std::vector<double>(size(t.batch * t.vocab * t.width))), out(t.batch * t.count * t.width);
    std::vector<double> named(size(t.batch * t.count));
    for (std::size_t i = 0; i < named.size(); ++i) named[i] = static_cast<double>(i * 7 % size(t.vocab + t.offset)) - 1;
    array<std::int32_t> const ids(named);
    device().run(primitives::take_rows<T>{t.count, t.width, t.vocab, t.offset, t.end, out.get(), table.get(), ids.get(),
                                          t.batch});
    device().run(
        primitives::add_rows<T>{t.count, t.width, t.vocab, t.offset, t.end, sums.get(), dy.get(), ids.get(), t.batch});
    auto const from = table.host(), g = dy.host(), taken = out.host(), added = sums.host();
    std::vector<double> want(added.size());
    for (index b = 0; b < t.batch; ++b)
      for (index c = 0; c < t.count; ++c)
        for (index j = 0; j < t.width; ++j) {
          index const row = static_cast<index>(named[size(b * t.count + c)]) - t.offset;
          bool const none = row + t.offset >= t.end, here = row >= 0 && row < t.vocab && !none;
          std::size_t const in_rows = size((b * t.count + c) * t.width + j);
          std::size_t const in_table = here ? size((b * t.vocab + row) * t.width + j) : 0;
          if (none)
            CHECK(std::isnan(taken[in_rows]));
          else
            CHECK(taken[in_rows] == (here ? from[in_table] : 0));
          if (here) want[in_table] += g[in_rows];
        }
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(close(added[i], want[i], within<T>()));
  }
}

TEST_CASE_TEMPLATE("the smallest numbers of rows", T, float, double, std::int32_t) {
  array<T> const x(std::is_integral_v<T> ? std::vector<double>{3, 1, 1, -2147483648.0, 5, 2147483647}
                                         : std::vector<double>{3, 0.0, -0.0, 7, std::nan(""), 5}),
      out(index{2});
  array<std::int32_t> const ids(index{2});
  device().run(primitives::top_of_rows<T>{1, 2, 3, 1, 1, 10, out.get(), ids.get(), x.get(), nullptr, true});
  auto const at = ids.host(), found = out.host();
  if (std::is_integral_v<T>) {
    CHECK(at == std::vector<double>{11, 10});
    CHECK(found == std::vector<double>{1, -2147483648.0});
  } else {
    CHECK(at == std::vector<double>{12, 11});
    CHECK(std::isnan(found[1]));
  }
}

/// Few different numbers, so with ties; zeros of both signs, infinities and NaN of both signs among them, or the least
/// and the largest integer. All sums are exact.
template <class T>
std::vector<double> awkward(index n, std::mt19937& draw, bool finite = false) {
  double const least = std::numeric_limits<std::int32_t>::lowest(), nan = std::nan("");
  double const odd[]{0.0, -0.0, HUGE_VAL, -HUGE_VAL, nan, -nan}, of_integers[]{least, -1 - least, 0, 0, least, 1};
  std::vector<double> x(size(n));
  for (double& v : x) {
    v = static_cast<double>(static_cast<int>(draw() % 41) - 20);
    if (draw() % 8 == 0) v = std::is_integral_v<T> ? of_integers[draw() % 6] : odd[draw() % (finite ? 2 : 6)];
  }
  return x;
}
/// Shapes of all kinds, of few elements together.
template <class F>
void each_shape(std::mt19937& draw, F const& f) {
  index const outer[]{1, 2, 5, 17, 150}, length[]{1, 2, 7, 31, 33, 64, 255, 257, 300, 520},
      inner[]{1, 2, 3, 5, 63, 64, 65, 300};
  for (index const n : length)
    for (index const i : inner) {
      index const o = outer[draw() % 5];
      rows const r{o * n * i > 100000 ? 1 : o, n, i};
      CAPTURE(r.outer);
      CAPTURE(r.n);
      CAPTURE(r.inner);
      f(r);
    }
}
/// Bit for bit, but NaN are one.
template <class T>
bool same(T a, T b) {
  if constexpr (!std::is_integral_v<T>)
    if (a != a && b != b) return true;
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}
/// Does x come before y? NaN first of all; of zeros the positive one, or, from the smallest on, the negative one.
bool precedes(double x, double y, bool smallest) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && !std::isnan(y);
  if (x != y) return smallest ? x < y : x > y;
  return std::signbit(x) != std::signbit(y) && std::signbit(x) == smallest;
}

TEST_CASE_TEMPLATE("the first of a row are those that sorting it puts first", T, float, double, bfloat16,
                   std::int32_t) {
  std::mt19937 draw(1);
  each_shape(draw, [&](rows const& r) {
    index const blocks = draw() % 3 == 0 ? 3 : 1, step = r.n * r.inner, all = blocks * r.outer * step;
    bool const smallest = draw() % 2 == 0, with_ids = draw() % 3 == 0;
    array<T> const x(awkward<T>(all, draw));
    std::vector<double> named(size(all));
    std::iota(named.begin(), named.end(), 0.0);
    std::ranges::shuffle(named, draw);
    array<std::int32_t> const ids(named);
    auto const in = x.raw();
    for (index const k : {index{1}, std::min(index{2}, r.n), std::min(index{8}, r.n)}) {
      array<T> const out(r.outer * k * r.inner);
      array<std::int32_t> const out_ids(r.outer * k * r.inner);
      device().run(primitives::top_of_rows<T>{blocks, r.outer, r.n, r.inner, k, 7, out.get(), out_ids.get(), x.get(),
                                              with_ids ? ids.get() : nullptr, smallest});
      auto const found = out.raw();
      auto const found_ids = out_ids.host();
      int wrong = 0;
      for (index row = 0; row < r.count(); ++row) {
        index const o = row / r.inner, i = row % r.inner;
        struct one {
          std::size_t at;
          double value, id;
          index seen;
        };
        std::vector<one> elements;
        for (index e = 0; e < blocks * r.n; ++e) {
          std::size_t const at = size(((e / r.n * r.outer + o) * r.n + e % r.n) * r.inner + i);
          elements.push_back({at, convert<double>(in[at]), with_ids ? named[at] : static_cast<double>(7 + e % r.n), e});
        }
        std::ranges::sort(elements, [&](one const& a, one const& b) {
          if (precedes(a.value, b.value, smallest)) return true;
          if (precedes(b.value, a.value, smallest)) return false;
          return a.id < b.id || (a.id == b.id && a.seen < b.seen);
        });
        for (index c = 0; c < k; ++c) {
          std::size_t const to = size((o * k + c) * r.inner + i);
          one const& want = elements[size(c)];
          wrong += same(found[to], in[want.at]) && found_ids[to] == want.id ? 0 : 1;
        }
      }
      CHECK(wrong == 0);
    }
  });
}

template <class T, class R>
void check_run(running by, rows const& r, array<T> const& x, bool reverse, bool exclusive) {
  using A = compute_t<R>;
  array<R> const out(memory_of(r));
  device().run(primitives::run_along<T, R>{by, r, reverse, exclusive, out.get(), x.get(), nullptr});
  auto const in = x.raw();
  auto const found = out.raw();
  int wrong = 0;
  each_run(r, reverse, [&](auto const& at, std::size_t) {
    A so_far = by == running::max   ? (std::is_integral_v<A> ? std::numeric_limits<A>::lowest() : A(-HUGE_VAL))
               : by == running::sum ? A(0)
                                    : A(1);
    for (std::size_t const i : at) {
      auto const own = static_cast<A>(convert<compute_t<T>>(in[i]));
      A const after = by == running::sum                                                       ? so_far + own
                      : by == running::product                                                 ? so_far * own
                      : precedes(static_cast<double>(own), static_cast<double>(so_far), false) ? own
                                                                                               : so_far;
      wrong += same(found[i], convert<R>(exclusive ? so_far : after)) ? 0 : 1;
      so_far = after;
    }
  });
  CHECK(wrong == 0);
}
TEST_CASE_TEMPLATE("runs are those of a plain loop, bit for bit", T, float, double, bfloat16, std::int32_t) {
  using R = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  std::mt19937 draw(2);
  each_shape(draw, [&](rows const& r) {
    array<T> const finite(awkward<T>(memory_of(r), draw, true)), x(awkward<T>(memory_of(r), draw));
    auto powers = awkward<T>(memory_of(r), draw);
    for (double& v : powers)
      if (std::isfinite(v) && v != 0) v = (v < 0 ? -1 : 1) * (draw() % 2 == 0 ? 2 : 0.5);
    array<T> const factors_of_two(powers);
    each_way([&](bool reverse, bool exclusive) {
      check_run<T, R>(running::sum, r, finite, reverse, exclusive);
      check_run<T, R>(running::sum, r, x, reverse, exclusive);
      check_run<T, T>(running::max, r, x, reverse, exclusive);
      if constexpr (!std::is_integral_v<T>) check_run<T, T>(running::product, r, factors_of_two, reverse, exclusive);
    });
  });
}

}  // namespace
}  // namespace kernels
