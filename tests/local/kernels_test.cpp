// Memory, pointwise kernels, copies, reductions and contractions against plain loops in double.
#include <cmath>

#include <mtf/kokkos/gemm/contract_columns.hpp>

#include "kernels_fixture.hpp"

#include <mtf/ops/elementwise/functions.hpp>

namespace kernels {
namespace {

struct multiply_add {
  template <class A, class B, class C>
  MTF_FUNCTION constexpr auto operator()(A a, B b, C c) const {
    return a * b + c;
  }
};
struct square {
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return a * a;
  }
};
struct pick {
  template <class C, class A, class B>
  MTF_FUNCTION constexpr auto operator()(C c, A a, B b) const {
    using R = mtf::math::mixed_t<A, B>;
    return c ? R(a) : R(b);
  }
};
struct less {
  template <class A>
  MTF_FUNCTION constexpr bool operator()(A a, A b) const {
    return a < b;
  }
};

/// What a column-major BLAS library makes of a contraction: tests the descriptions that GPU libraries get.
void multiply_columns(mtf::backend::contraction const& w, std::vector<double> const& a, std::vector<double> const& b,
                      std::vector<double>& c) {
  mtf::kokkos::batch_split const batch(w.batch);
  auto const first = mtf::kokkos::first_operand(w), second = mtf::kokkos::second_operand(w);
  REQUIRE(first.leading >= first.rows);
  REQUIRE(second.leading >= second.rows);
  auto const at = [](mtf::kokkos::column_operand const& x, index i, index j) {
    return x.plain ? i + j * x.leading : j + i * x.leading;
  };
  for (index call = 0; call < batch.calls; ++call)
    for (index s = 0; s < batch.count; ++s) {
      index offset[3];
      batch.outer.locate(call, offset);
      for (int o = 0; o < 3; ++o) offset[o] += s * batch.stride[o];
      for (index i = 0; i < w.n; ++i)
        for (index j = 0; j < w.m; ++j) {
          double sum = 0;
          for (index k = 0; k < w.k; ++k)
            sum += b[static_cast<std::size_t>(offset[1] + at(first, i, k))] *
                   a[static_cast<std::size_t>(offset[0] + at(second, k, j))];
          c[static_cast<std::size_t>(offset[2] + i + j * std::max(w.n, w.c_m))] = sum;
        }
    }
}

}  // namespace

TEST_CASE("the pool hands blocks out again and counts") {
  auto& d = device();
  auto const before = d.memory();
  void* p = d.allocate(1000);
  CHECK(d.memory().live == before.live + 1024);
  CHECK(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
  d.release(p, 1000);
  CHECK(d.memory().live == before.live);
  auto const system = d.memory().system_allocations;
  void* q = d.allocate(1001);
  CHECK(q == p);
  CHECK(d.memory().system_allocations == system);
  d.release(q, 1001);
  for (std::size_t n : {1UL, 64UL, 65UL, 1000UL, 100000UL, 12345678UL}) {
    auto const block = mtf::kokkos::memory_pool<Kokkos::HostSpace>::block_size(n);
    CHECK(block >= n);
    CHECK(block % 64 == 0);
    CHECK(static_cast<double>(block) <= std::max(64.0, 1.25 * static_cast<double>(n) + 64));
  }
}

TEST_CASE("collectives over one rank are copies, and nothing is counted") {
  array<float> in(numbers(100, 1));
  device().ranks().reset_counts();
  auto const check = [&](auto const& collective) {
    array<float> out(numbers(100, 2));
    collective(out.get());
    CHECK(out.host() == in.host());
  };
  check([&](float* out) {
    device().communicate(mtf::collective::all_reduce(0, combine::sum, mtf::element_of<float>, 100), in.get(), out);
  });
  check([&](float* out) {
    device().wait(
        device().start(mtf::collective::all_reduce(0, combine::sum, mtf::element_of<float>, 100), in.get(), out));
  });
  check([&](float* out) {
    device().communicate(mtf::collective::reduce_scatter(0, mtf::element_of<float>, 100), in.get(), out);
  });
  check([&](float* out) {
    device().wait(device().start(mtf::collective::reduce_scatter(0, mtf::element_of<float>, 100), in.get(), out));
  });
  check([&](float* out) {
    device().communicate(mtf::collective::all_gather(0, mtf::element_of<float>, 100), in.get(), out);
  });
  check([&](float* out) {
    device().communicate(mtf::collective::all_to_all(0, mtf::element_of<float>, 100), in.get(), out);
  });
  check([&](float* out) {
    device().communicate(mtf::collective::permute(0, mtf::element_of<float>, 100, 0, 0), in.get(), out);
  });
  CHECK(device().ranks().counts().empty());
}

TEST_CASE_TEMPLATE("fill, add, iota", T, float, double, bfloat16) {
  for (index n : {1, 7, 64, 1000, 20000}) {
    array<T> a(n), b(numbers(n, 2));
    device().run(primitives::fill{a.get(), n, convert<T>(1.5)});
    device().run(primitives::add{n, a.get(), b.get()});
    auto expected = b.host();
    for (double& x : expected) x += 1.5;
    check_close(a.host(), expected, tolerance<T>);
  }
  rows const r{3, 5, 4};
  array<T> out(index(60));
  device().run(primitives::iota{r, 10, out.get()});
  auto const got = out.host();
  for (std::size_t i = 0; i < 60; ++i) CHECK(got[i] == static_cast<double>(i / 4 % 5 + 10));
}

TEST_CASE_TEMPLATE("map broadcasts, its vjp differentiates", T, float, double, bfloat16) {
  // [4, 6, n]: a whole, b along the last dimension, c along the first; then the same with a strided output
  for (index n : {1, 7, 64, 1000})
    for (index out_step : {index(1), index(2)}) {
      index const total = 4 * 6 * n;
      loops<4> const l{
          3, {4, 6, n}, {{{6 * n * out_step, n * out_step, out_step}, {6 * n, n, 1}, {0, 0, 1}, {1, 0, 0}}}};
      array<T> a(numbers(total, 1)), b(numbers(n, 2)), c(numbers(4, 3)), y(total * out_step);
      device().run(primitives::fill{y.get(), total * out_step, convert<T>(0.0)});
      device().run(primitives::map_of(multiply_add{}, mtf::backend::collapsed(l), y.get(), a.get(), b.get(), c.get()));
      auto const ah = a.host(), bh = b.host(), ch = c.host();
      std::vector<double> expected(static_cast<std::size_t>(total * out_step));
      for_all(l, [&](auto const& at, std::size_t) { expected[at[0]] = ah[at[1]] * bh[at[2]] + ch[at[3]]; });
      check_close(y.host(), expected, tolerance<T>);

      array<T> dy(numbers(total * out_step, 4)), da(total * out_step), dc(total * out_step);
      device().run(primitives::fill{da.get(), total * out_step, convert<T>(0.0)});
      device().run(primitives::fill{dc.get(), total * out_step, convert<T>(0.0)});
      array<T> db(n);
      device().run(primitives::map_vjp_of(multiply_add{}, l,
                                          {{{da.get()}, {n > 1 ? db.get() : nullptr, true}, {dc.get()}}}, dy.get(),
                                          a.get(), b.get(), c.get()));
      auto const g = dy.host();
      auto expected_a = expected, expected_c = expected;
      std::vector<double> expected_b(static_cast<std::size_t>(n));
      std::fill(expected_a.begin(), expected_a.end(), 0.0);
      std::fill(expected_c.begin(), expected_c.end(), 0.0);
      for_all(l, [&](auto const& at, std::size_t) {
        expected_a[at[0]] = g[at[0]] * bh[at[2]];
        expected_b[at[2]] += g[at[0]] * ah[at[1]];
        expected_c[at[0]] = g[at[0]];
      });
      if (n > 1) check_close(db.host(), expected_b, 24 * tolerance<T>);
      check_close(da.host(), expected_a, tolerance<T>);
      check_close(dc.host(), expected_c, tolerance<T>);
    }
}

TEST_CASE("map over booleans, integers and in place") {
  index const n = 1000;
  array<float> a(numbers(n, 1)), b(numbers(n, 2)), y(n);
  array<bool> is_less(n);
  loops<3> const two{1, {n}, {{{1}, {1}, {1}}}};
  loops<4> const three{1, {n}, {{{1}, {1}, {1}, {1}}}};
  device().run(primitives::map_of(less{}, two, is_less.get(), a.get(), b.get()));
  device().run(primitives::map_of(pick{}, three, y.get(), is_less.get(), a.get(), b.get()));
  auto const ah = a.host(), bh = b.host(), yh = y.host();
  for (std::size_t i = 0; i < yh.size(); ++i) REQUIRE(yh[i] == std::min(ah[i], bh[i]));

  array<float> dy(numbers(n, 3)), da(n), db(n);
  device().run(
      primitives::map_vjp_of(pick{}, three, {{{}, {da.get()}, {db.get()}}}, dy.get(), is_less.get(), a.get(), b.get()));
  auto const g = dy.host(), dah = da.host(), dbh = db.host();
  for (std::size_t i = 0; i < g.size(); ++i) {
    REQUIRE(dah[i] == (ah[i] < bh[i] ? g[i] : 0.0));
    REQUIRE(dbh[i] == (ah[i] < bh[i] ? 0.0 : g[i]));
  }

  array<std::int32_t> k(std::vector<double>{1, 2, 3, -4});
  loops<2> const four{1, {4}, {{{1}, {1}}}};
  device().run(primitives::map_of(square{}, four, k.get(), k.get()));
  CHECK(k.host() == std::vector<double>{1, 4, 9, 16});
}

TEST_CASE_TEMPLATE("copy: permutations, slices, broadcasts, conversions", T, float, double, bfloat16) {
  auto const check = [](loops<2> const& l, index out_size, index in_size) {
    array<float> in(numbers(in_size, 5));
    array<T> out(out_size);
    device().run(primitives::fill{out.get(), out_size, convert<T>(0.0)});
    device().run(primitives::copy{mtf::backend::collapsed(l), out.get(), in.get()});
    auto const h = in.host();
    std::vector<double> expected(static_cast<std::size_t>(out_size));
    for_all(l, [&](auto const& at, std::size_t) { expected[at[0]] = h[at[1]]; });
    CHECK(out.host() == expected);
  };
  for (index n : {1, 7, 64, 1000}) {
    check({1, {n}, {{{1}, {1}}}}, n, n);
    check({1, {n}, {{{1}, {0}}}}, n, 1);
    check({1, {n}, {{{1}, {3}}}}, n, 3 * n);
    check({2, {5, n}, {{{n, 1}, {1, 5}}}}, 5 * n, 5 * n);                                        // transpose
    check({2, {65, n}, {{{1, 65}, {n, 1}}}}, 65 * n, 65 * n);                                    // and back
    check({3, {3, 33, n}, {{{33 * n, n, 1}, {33, 1, 99}}}}, 99 * n, 99 * n);                     // n to the back
    check({4, {2, 3, 4, n}, {{{12 * n, 4 * n, n, 1}, {12 * n, n, 3 * n, 1}}}}, 24 * n, 24 * n);  // swap inside
    check({2, {6, n}, {{{2 * n, 1}, {n, 1}}}}, 12 * n, 6 * n);                                   // into a slice
  }
  array<std::int64_t> i(std::vector<double>{0, 1, 2, -3});
  array<bool> b(index(4));
  array<T> x(index(4));
  loops<2> const four{1, {4}, {{{1}, {1}}}};
  device().run(primitives::copy{four, b.get(), i.get()});
  device().run(primitives::copy{four, x.get(), b.get()});
  CHECK(x.host() == std::vector<double>{0, 1, 1, 1});
}

TEST_CASE("arrays too large for the caches, whose rows begin anywhere in a cache line") {
  index const m = 1500, n = 1499, total = m * n;
  REQUIRE(mtf::kokkos::exceeds_caches<float>(total));
  array<float> a(numbers(total, 1)), b(numbers(n, 2)), c(numbers(total, 3)), y(total);
  auto const ah = a.raw(), bh = b.raw(), ch = c.raw();
  auto const check = [&](auto const& expected) {
    auto const got = y.raw();
    index wrong = 0;
    for (index i = 0; i < m; ++i)
      for (index j = 0; j < n; ++j)
        if (got[static_cast<std::size_t>(i * n + j)] !=
            expected(static_cast<std::size_t>(i), static_cast<std::size_t>(j)))
          ++wrong;
    CHECK(wrong == 0);
    device().run(primitives::fill{y.get(), total, 0.0F});
  };
  std::size_t const width = n, height = m;
  loops<4> const l{2, {m, n}, {{{n, 1}, {n, 1}, {0, 1}, {n, 1}}}};
  device().run(primitives::map_of(multiply_add{}, l, y.get(), a.get(), b.get(), c.get()));
  check([&](std::size_t i, std::size_t j) { return ah[i * width + j] * bh[j] + ch[i * width + j]; });
  device().run(primitives::map_vjp_of(multiply_add{}, l, {{{y.get()}, {}, {}}}, c.get(), a.get(), b.get(), c.get()));
  check([&](std::size_t i, std::size_t j) { return ch[i * width + j] * bh[j]; });
  array<float> db(n);
  device().run(primitives::map_vjp_of(multiply_add{}, l, {{{y.get()}, {db.get(), true}, {}}}, c.get(), a.get(), b.get(),
                                      c.get()));
  check([&](std::size_t i, std::size_t j) { return ch[i * width + j] * bh[j]; });
  device().run(primitives::copy{loops<2>{2, {m, n}, {{{n, 1}, {1, m}}}}, y.get(), a.get()});
  check([&](std::size_t i, std::size_t j) { return ah[j * height + i]; });
  // From the second element on, so that nothing lies where a line begins.
  device().run(primitives::copy{loops<2>{2, {m, n - 1}, {{{n, 1}, {n, 1}}}}, y.get() + 1, a.get()});
  check([&](std::size_t i, std::size_t j) { return j == 0 ? 0.0F : ah[i * width + j - 1]; });
}

TEST_CASE_TEMPLATE("reduce over any loops", T, float, double, bfloat16) {
  auto const check = [](mtf::backend::reduction const& r, index out_size, index in_size) {
    for (combine op : {combine::sum, combine::max, combine::min})
      for (bool accumulate : {false, true}) {
        array<T> in(numbers(in_size, 7)), out(numbers(out_size, 8));
        auto expected = out.host();
        auto const h = in.host();
        device().run(primitives::reduce{op, r, out.get(), in.get(), accumulate});
        double const terms = static_cast<double>(r.reduced.size());
        for_all(r.kept, [&](auto const& k, std::size_t) {
          bool first = !accumulate;
          double& to = expected[k[0]];
          for_all(r.reduced, [&](auto const& at, std::size_t) {
            double const x = h[k[1] + at[0]];
            to = first ? x : op == combine::sum ? to + x : op == combine::max ? std::max(to, x) : std::min(to, x);
            first = false;
          });
        });
        check_close(out.host(), expected, tolerance<T> * std::max(1.0, std::sqrt(terms) / 10));
      }
  };
  for (index n : {1, 7, 64, 1000}) {
    check({{1, {5}, {{{1}, {n}}}}, {1, {n}, {{{1}}}}}, 5, 5 * n);                    // rows
    check({{1, {n}, {{{1}, {1}}}}, {1, {9}, {{{n}}}}}, n, 9 * n);                    // columns
    check({{1, {n}, {{{1}, {1}}}}, {1, {300}, {{{n}}}}}, n, 300 * n);                // long columns
    check({{2, {3, n}, {{{n, 1}, {5 * n, 1}}}}, {1, {5}, {{{n}}}}}, 3 * n, 15 * n);  // the middle
    check({{1, {4}, {{{1}, {n}}}}, {2, {3, n}, {{{4 * n, 1}}}}}, 4, 12 * n);         // all but the middle
    check({{1, {6}, {{{2}, {1}}}}, {1, {n}, {{{6}}}}}, 12, 6 * n);                   // strided results
  }
  check({{1, {1}, {{{1}, {1}}}}, {1, {200000}, {{{1}}}}}, 1, 200000);  // everything
  array<T> x(numbers(100000, 9));
  array<double> total(std::vector<double>{1.0});
  device().run(primitives::square_sum{100000, total.get(), x.get()});
  double expected = 1.0;
  for (double v : x.host()) expected += v * v;
  CHECK(total.host()[0] == doctest::Approx(expected).epsilon(1e-9));
}

/// Equal numbers are the worst case: adding one to a large sum rounds the same way each time. They are added up in
/// blocks, whichever way they lie.
TEST_CASE("sums of very many equal numbers") {
  index const n = index{1} << 25U;
  array<float> x(n);
  device().run(primitives::fill<float>{x.get(), n, 0.1F});
  auto const check = [&](char const* how, index results, mtf::backend::reduction const& r) {
    CAPTURE(std::string(how));
    CAPTURE(results);
    array<float> y(results);
    device().run(primitives::reduce{combine::sum, r, y.get(), x.get(), false});
    double const want = static_cast<double>(0.1F) * static_cast<double>(r.reduced.size());
    double worst = 0;
    for (double const found : y.host()) worst = std::max(worst, std::abs(found / want - 1));
    MESSAGE(std::string(how), " of ", results, ": off by ", worst);
    CHECK(worst <= 6e-6);
  };
  for (index const results : {1, 4, 8, 600}) {
    index const terms = n / results;
    check("columns", results, {{1, {results}, {{{1}, {1}}}}, {1, {terms}, {{{results}}}}});
    check("rows", results, {{1, {results}, {{{1}, {terms}}}}, {1, {terms}, {{{1}}}}});
  }
  check("the middle", 16, {{2, {2, 8}, {{{8, 1}, {n / 2, 1}}}}, {1, {n / 16}, {{{8}}}}});
  check("one number, over and over", 1, {{1, {1}, {{{1}, {1}}}}, {1, {n}, {{{0}}}}});

  // A row that is repeated for all others, whose gradient is summed where it is computed.
  index const width = 8, rows = n / width;
  array<float> row(std::vector<double>(8, 1.0)), gradient(width), unused(index{1});
  loops<3> const l{.ndim = 2, .extent = {rows, width}, .stride = {{{width, 1}, {width, 1}, {0, 1}}}};
  device().run(primitives::map_vjp_of<mtf::functions::add, float, float, float>(
      {}, l, {mtf::backend::map_gradient{}, {gradient.get(), true, true}}, x.get(), x.get(), row.get()));
  for (double const found : gradient.host())
    CHECK(found == doctest::Approx(static_cast<double>(0.1F) * static_cast<double>(rows)).epsilon(1e-5));
}

/// Bools and 32-bit integers are counted in 64 bits.
TEST_CASE("counts that 32 bits do not hold") {
  std::int32_t const most = std::numeric_limits<std::int32_t>::max();
  array<std::int32_t> const x(std::vector<double>(64 * 8, static_cast<double>(most)));
  for (bool const columns : {false, true}) {
    array<std::int64_t> y(index{8});
    mtf::backend::reduction const r{{1, {8}, {{{1}, {columns ? 1 : 64}}}}, {1, {64}, {{{columns ? 8 : 1}}}}};
    device().run(primitives::reduce{combine::sum, r, y.get(), x.get(), false});
    for (std::int64_t const found : y.raw()) CHECK(found == 64 * std::int64_t{most});
  }
}

TEST_CASE_TEMPLATE("contract: strides, batches, accumulation, bias", T, float, double, bfloat16) {
  struct shape {
    index m, n, k;
  };
  enum class with { nothing, result, bias };
  constexpr index aliased = 512;  // rows of a transposed a that share sets of the caches
  constexpr index few = 1100;     // columns of a large matrix, by which few rows are multiplied
  for (auto const [m, n, k] : {shape{1, 1, 1},
                               {1, 7, 64},
                               {64, 1, 7},
                               {7, 64, 1},
                               {33, 65, 129},
                               {100, 64, 200},
                               {aliased, 33, 600},
                               {1, few, 97},
                               {3, few, 97},
                               {4, 517, 131},
                               {18, few, 97},
                               {64, 517, 131}})
    for (int transposed = 0; transposed < 4; ++transposed)
      for (int batch = 0; batch < 4; ++batch)
        for (auto const to_what : {with::nothing, with::result, with::bias}) {
          bool const accumulate = to_what == with::result, biased = to_what == with::bias;
          if ((biased || m == aliased || n > aliased) && batch != 0) continue;
          mtf::backend::contraction w;
          w.m = m, w.n = n, w.k = k;
          bool const ta = (transposed & 1) != 0, tb = (transposed & 2) != 0;
          index const outer = batch == 0 ? 1 : batch == 1 ? 3 : 6;
          // batch 2: two loops that do not merge, a not moving along the first; 3: heads inside the rows (attention)
          if (batch == 0) w.batch = {1, {1}, {{{0}, {0}, {0}}}};
          if (batch == 1) w.batch = {1, {3}, {{{m * k}, {k * n}, {m * n}}}};
          if (batch == 2) w.batch = {2, {2, 3}, {{{0, m * k}, {3 * k * n, k * n}, {m * n, 2 * m * n}}}};
          if (batch == 3) w.batch = {2, {2, 3}, {{{3 * m * k, 0}, {3 * k * n, k * n}, {3 * m * n, n}}}};
          w.a_m = ta ? 1 : k, w.a_k = ta ? m : 1;
          w.b_k = tb ? 1 : n, w.b_n = tb ? k : 1;
          w.c_m = batch == 3 ? 3 * n : n, w.c_n = 1;
          if (batch == 3 && !ta) w.a_m = 3 * k, w.batch.stride[0][1] = k;
          array<T> a(numbers(outer * m * k, 1)), b(numbers(outer * k * n, 2)), c(numbers(outer * m * n, 3));
          auto expected = c.host();
          array<T> const bias(numbers(n, 4));
          auto const ah = a.host(), bh = b.host(), bias_h = bias.host();
          device().run(primitives::contract{w, a.get(), b.get(), c.get(), accumulate, biased ? bias.get() : nullptr});
          for_all(w.batch, [&](auto const& at, std::size_t) {
            for (index i = 0; i < m; ++i)
              for (index j = 0; j < n; ++j) {
                double s = biased ? bias_h[static_cast<std::size_t>(j)] : 0.0;
                for (index q = 0; q < k; ++q)
                  s += ah[at[0] + static_cast<std::size_t>(i * w.a_m + q * w.a_k)] *
                       bh[at[1] + static_cast<std::size_t>(q * w.b_k + j * w.b_n)];
                double& to = expected[at[2] + static_cast<std::size_t>(i * w.c_m + j)];
                to = accumulate ? to + s : s;
              }
          });
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(transposed);
          CAPTURE(batch);
          check_close(c.host(), expected, tolerance<T>);
          if (std::is_same_v<T, double> && to_what == with::nothing) {
            std::vector<double> by_columns(expected.size());
            multiply_columns(w, ah, bh, by_columns);
            check_close(by_columns, expected, 1e-12);
          }
        }
}

/// Each is what it is alone, to the bit: so a text is what it is alone, whatever is written beside it.
TEST_CASE_TEMPLATE("contract: few rows", T, float, double, bfloat16) {
  // (Not `numbers`, whose sums are exact in any order.)
  auto const uneven = [](index count, double by) {
    std::vector<double> x(size(count));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(by * static_cast<double>(i));
    return x;
  };
  for (auto const& [n, k] : {std::pair<index, index>{1101, 147}, {61, 32}, {48, 48}}) {
    constexpr index most = 64;
    array<T> const a(uneven(most * k, 1.3)), b(uneven(k * n, 0.7)), bias(uneven(n, 0.1));
    for (bool const transposed : {false, true}) {
      mtf::backend::contraction w;
      w.batch = {1, {1}, {{{0}, {0}, {0}}}};
      w.n = n, w.k = k;
      w.a_m = k, w.a_k = 1, w.c_m = n, w.c_n = 1;
      w.b_k = transposed ? 1 : n, w.b_n = transposed ? k : 1;
      auto const product = [&, columns = n](index m, T const* rows) {
        w.m = m;
        array<T> c(m * columns);
        device().run(primitives::contract{w, rows, b.get(), c.get(), false, bias.get()});
        return c.raw();
      };
      auto const same = [count = size(n)](auto const* x, auto const* y) {
        return std::memcmp(x, y, count * sizeof(T)) == 0;
      };
      for (index m = 2; m <= most; ++m) {
        CAPTURE(m);
        auto const all = product(m, a.get());
        for (index const i : {index{0}, m / 2, m - 1}) {
          auto const alone = product(1, a.get() + i * k);
          CHECK(same(all.data() + i * n, alone.data()));
        }
      }
    }
  }
}

/// On devices, rows of bfloat16 that begin anywhere are copied to others, and large products are made of parts.
TEST_CASE_TEMPLATE("contract: large matrices whose rows begin anywhere", T, float, bfloat16) {
  constexpr index m = 777, n = 1031, k = 1000, samples = 500;
  array<T> const a(numbers(m * k, 1)), b(numbers(k * n, 2)), bias(numbers(n, 3));
  auto const ah = a.host(), bh = b.host(), bias_h = bias.host();
  for (bool const ta : {false, true})
    for (bool const tb : {false, true})
      for (bool const biased : {false, true})
        for (bool const accumulate : {false, !biased}) {
          mtf::backend::contraction const w = product_of(m, n, k, ta, tb, ta ? m : k, tb ? k : n);
          array<T> c(numbers(m * n, 4));
          auto const before = c.host();
          device().run(primitives::contract{w, a.get(), b.get(), c.get(), accumulate, biased ? bias.get() : nullptr});
          auto const after = c.host();
          std::vector<double> found, expected;
          for (index s = 0; s < samples; ++s) {
            index const i = s == 0 ? m - 1 : s * 37 % m, j = s == 0 ? n - 1 : s * 101 % n;
            double sum = biased ? bias_h[size(j)] : accumulate ? before[size(i * n + j)] : 0.0;
            for (index q = 0; q < k; ++q) sum += ah[size(i * w.a_m + q * w.a_k)] * bh[size(q * w.b_k + j * w.b_n)];
            found.push_back(after[size(i * n + j)]);
            expected.push_back(sum);
          }
          CAPTURE(ta);
          CAPTURE(tb);
          check_close(found, expected, tolerance<T>);
        }
}

}  // namespace kernels
