// Kernels that move neighbours together, against plain loops: arrays that begin anywhere, of any length, rows of any
// distance, operands that are repeated, and NaN. What is computed element by element has the same bits.
#include <limits>
#include <string>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

using vec = std::vector<double>;
index const lengths[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 100, 1000, 20001};
index const starts[] = {0, 1, 2, 3, 4, 7, 8};

/// Numbers with a NaN and an infinity among them.
vec with_nan(index n, unsigned seed) {
  vec x = numbers(n, seed);
  if (n > 4) x[size(n / 2)] = std::numeric_limits<double>::quiet_NaN();
  if (n > 6) x[size(n - 2)] = std::numeric_limits<double>::infinity();
  return x;
}
template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 ||
         (convert<double>(a) != convert<double>(a) && convert<double>(b) != convert<double>(b));
}
template <class T>
index differing(std::vector<T> const& got, std::vector<T> const& want) {
  REQUIRE(got.size() == want.size());
  index n = 0;
  for (std::size_t i = 0; i < got.size(); ++i) n += same_bits(got[i], want[i]) ? 0 : 1;
  return n;
}

struct weighted {
  template <class A, class B>
  MTF_FUNCTION auto operator()(A a, B b) const {
    return a * b + a;
  }
};

/// y = x * row + column, whose gradients are dy * row, dy * x, and dy.
struct scale_and_shift {
  template <class A, class B, class C>
  MTF_FUNCTION auto operator()(A x, B row, C column) const {
    return x * row + column;
  }
};

TEST_CASE_TEMPLATE("maps of arrays that begin anywhere", T, float, double, bfloat16) {
  for (index const n : lengths)
    for (index const start : starts)
      for (index const other : {start, start + 1}) {
        CAPTURE(n);
        CAPTURE(start);
        CAPTURE(other);
        array<T> const a(with_nan(n + 9, 1)), b(numbers(n + 9, 2));
        array<T> y(vec(size(n + 20), 7)), z(vec(size(n + 20), 7));
        loops<3> const l{1, {n}, {{{1}, {1}, {1}}}};
        device().run(primitives::map_of(weighted{}, l, y.get() + start, a.get() + other, b.get() + start));
        device().run(primitives::map_of(weighted{}, l, z.get() + other, a.get() + other, b.get() + other));
        auto const ah = a.raw(), bh = b.raw();
        auto want = array<T>(vec(size(n + 20), 7)).raw(), want_z = want;
        for (index i = 0; i < n; ++i) {
          auto const f = [&](index from) {
            return convert<T>(weighted{}(static_cast<compute_t<T>>(ah[size(i + other)]),
                                         static_cast<compute_t<T>>(bh[size(i + from)])));
          };
          want[size(i + start)] = f(start);
          want_z[size(i + other)] = f(other);
        }
        CHECK(differing(y.raw(), want) == 0);
        CHECK(differing(z.raw(), want_z) == 0);
      }
}

TEST_CASE_TEMPLATE("maps of rows: a repeated row, a repeated column, rows further apart than they are long", T, float,
                   double, bfloat16) {
  for (index const n : {1, 2, 5, 8, 16, 24, 33, 256})
    for (index const rows : {1, 2, 7})
      for (index const apart : {n, n + 1, n + 8})
        for (index const start : {0, 1, 8}) {
          CAPTURE(n);
          CAPTURE(rows);
          CAPTURE(apart);
          CAPTURE(start);
          index const all = rows * apart + 16;
          array<T> const x(with_nan(all, 3)), row(numbers(n + 8, 4)), column(numbers(rows, 5));
          array<T> y(vec(size(all), 7));
          loops<4> const l{2, {rows, n}, {{{apart, 1}, {apart, 1}, {0, 1}, {1, 0}}}};
          device().run(primitives::map_of(scale_and_shift{}, l, y.get() + start, x.get() + start, row.get() + start,
                                          column.get()));
          auto const xh = x.raw(), rh = row.raw(), ch = column.raw();
          auto want = array<T>(vec(size(all), 7)).raw();
          for (index r = 0; r < rows; ++r)
            for (index j = 0; j < n; ++j)
              want[size(start + r * apart + j)] = convert<T>(scale_and_shift{}(
                  static_cast<compute_t<T>>(xh[size(start + r * apart + j)]),
                  static_cast<compute_t<T>>(rh[size(start + j)]), static_cast<compute_t<T>>(ch[size(r)])));
          CHECK(differing(y.raw(), want) == 0);
        }
}

template <class To, class From>
void check_copies() {
  for (index const n : lengths)
    for (index const start : starts)
      for (index const other : {start, start + 1}) {
        CAPTURE(n);
        CAPTURE(start);
        CAPTURE(other);
        array<From> const x(std::is_floating_point_v<To> ? with_nan(n + 9, 1) : numbers(n + 9, 1));
        array<To> y(vec(size(n + 20), 1));
        device().run(primitives::copy{loops<2>{1, {n}, {{{1}, {1}}}}, y.get() + start, x.get() + other});
        auto const xh = x.raw();
        auto want = array<To>(vec(size(n + 20), 1)).raw();
        for (index i = 0; i < n; ++i) want[size(i + start)] = convert<To>(xh[size(i + other)]);
        CHECK(differing(y.raw(), want) == 0);
      }
  for (index const n : {3, 8, 16, 24, 40})
    for (index const apart : {n, n + 3, n + 8}) {
      CAPTURE(n);
      CAPTURE(apart);
      index const rows = 5;
      array<From> const x(numbers(rows * apart, 1));
      array<To> y(vec(size(2 * rows * apart), 1));
      device().run(
          primitives::copy{loops<2>{3, {2, rows, n}, {{{rows * apart, apart, 1}, {0, apart, 1}}}}, y.get(), x.get()});
      auto const xh = x.raw();
      auto want = array<To>(vec(size(2 * rows * apart), 1)).raw();
      for (index h = 0; h < 2; ++h)
        for (index r = 0; r < rows; ++r)
          for (index j = 0; j < n; ++j) want[size((h * rows + r) * apart + j)] = convert<To>(xh[size(r * apart + j)]);
      CHECK(differing(y.raw(), want) == 0);
    }
}
TEST_CASE("copies and casts of arrays that begin anywhere") {
  check_copies<float, float>();
  check_copies<bfloat16, bfloat16>();
  check_copies<double, double>();
  check_copies<float, bfloat16>();
  check_copies<bfloat16, float>();
  check_copies<double, bfloat16>();
  check_copies<std::int32_t, float>();
  check_copies<bool, float>();
  check_copies<float, bool>();
}

TEST_CASE_TEMPLATE("gradients of maps of rows, with sums over rows", T, float, double, bfloat16) {
  for (index const n : {2, 3, 7, 8, 16, 33, 256, 1000})
    for (index const rows : {1, 2, 7, 9, 300, 1500}) {
      if (rows * n > 400000) continue;
      for (index const start : {0, 1, 8}) {
        CAPTURE(n);
        CAPTURE(rows);
        CAPTURE(start);
        index const all = rows * n + 16;
        array<T> const x(numbers(all, 1)), dy(numbers(all, 2)), row(numbers(n + 8, 3)), column(numbers(rows, 4));
        array<T> dx(vec(size(all), 7)), drow(vec(size(n + 16), 7)), alone(n);
        loops<4> const l{2, {rows, n}, {{{n, 1}, {n, 1}, {0, 1}, {1, 0}}}};
        auto const vjp = [&](T* to_x, T* to_row) {
          device().run(primitives::map_vjp_of(scale_and_shift{}, l, {{{to_x}, {to_row, true}, {}}}, dy.get() + start,
                                              x.get() + start, row.get() + start, column.get()));
        };
        vjp(dx.get() + start, drow.get() + start);
        auto const xh = x.raw(), gh = dy.raw(), rh = row.raw();
        auto want = array<T>(vec(size(all), 7)).raw();
        vec sums(size(n), 0), sizes(size(n), 0);
        for (index r = 0; r < rows; ++r)
          for (index j = 0; j < n; ++j) {
            auto const i = size(start + r * n + j);
            want[i] = convert<T>(
                mtf::math::chained(static_cast<compute_t<T>>(gh[i]), static_cast<compute_t<T>>(rh[size(start + j)])));
            sums[size(j)] += convert<double>(gh[i]) * convert<double>(xh[i]);
            sizes[size(j)] += std::abs(convert<double>(gh[i]) * convert<double>(xh[i]));
          }
        CHECK(differing(dx.raw(), want) == 0);
        auto const got = drow.host();
        double const unit = std::is_same_v<T, double> ? 1e-15 : 1e-6, rounded = std::is_same_v<T, bfloat16> ? 4e-3 : 0;
        index wrong = 0;
        for (index j = 0; j < n; ++j)  // added up in float or more, and rounded once
          if (!(std::abs(got[size(start + j)] - sums[size(j)]) <=
                unit * sizes[size(j)] + rounded * std::abs(sums[size(j)])))
            ++wrong;
        CHECK(wrong == 0);
        for (index j = 0; j < start; ++j) CHECK(got[size(j)] == 7);
        CHECK(got[size(start + n)] == 7);
        // The row's alone, and from other places: the same bits.
        vjp(nullptr, alone.get());
        auto const a = alone.raw(), b = drow.raw();
        CHECK(differing(a, std::vector<T>(b.begin() + start, b.begin() + start + n)) == 0);
      }
    }
}

TEST_CASE_TEMPLATE("sums of columns, which begin anywhere", T, float, double, bfloat16) {
  for (index const n : {4, 7, 8, 16, 33, 256, 1000})
    for (index const rows : {1, 2, 7, 300, 5000}) {
      if (rows * n > 400000) continue;
      array<T> first(n);
      for (index const start : {0, 1, 8}) {
        CAPTURE(n);
        CAPTURE(rows);
        CAPTURE(start);
        vec const values = numbers(rows * n, 1);
        vec shifted(size(start), 0);
        shifted.insert(shifted.end(), values.begin(), values.end());
        array<T> const x(shifted);
        array<T> y(vec(size(n + 16), 7));
        mtf::backend::reduction const r{{1, {n}, {{{1}, {1}}}}, {1, {rows}, {{{n}}}}};
        device().run(primitives::reduce{combine::sum, r, y.get() + start, x.get() + start, false});
        vec want(size(n + 16), 7);
        for (index j = 0; j < n; ++j) {
          double s = 0;  // exact: 64ths
          for (index i = 0; i < rows; ++i) s += values[size(i * n + j)];
          want[size(start + j)] = convert<double>(convert<T>(s));
        }
        CHECK(y.host() == want);
        device().run(primitives::reduce{combine::max, r, y.get() + start, x.get() + start, true});
        for (index j = 0; j < n; ++j)
          for (index i = 0; i < rows; ++i)
            want[size(start + j)] = std::max(want[size(start + j)], values[size(i * n + j)]);
        CHECK(y.host() == want);
      }
    }
}

TEST_CASE_TEMPLATE("norms' backward pass of rows that begin anywhere", T, float, double, bfloat16) {
  using A = compute_t<T>;
  for (index const n : {1, 2, 3, 7, 8, 11, 15, 16, 17, 64})
    for (index const count : {1, 5, 70})
      for (bool const accumulate : {false, true}) {
        CAPTURE(n);
        CAPTURE(count);
        CAPTURE(accumulate);
        index const all = count * n;
        vec mean_of(size(count)), rstd_of(size(count), 0.75);
        for (index r = 0; r < count; ++r) mean_of[size(r)] = static_cast<double>(r % 5) / 4;
        array<A> const mean(mean_of), rstd(rstd_of);
        vec const x = numbers(all, 1), dy = numbers(all, 2), gamma = numbers(n, 3), before = numbers(all, 4);
        vec dx(size(all)), dgamma(size(n)), dbeta(size(n));
        for (index r = 0; r < count; ++r) {
          double s1 = 0, s2 = 0;
          auto const hat = [&](index j) { return (x[size(r * n + j)] - mean_of[size(r)]) * 0.75; };
          for (index j = 0; j < n; ++j) {
            double const g = dy[size(r * n + j)];
            s1 += g * gamma[size(j)] / static_cast<double>(n);
            s2 += g * gamma[size(j)] * hat(j) / static_cast<double>(n);
            dgamma[size(j)] += g * hat(j);
            dbeta[size(j)] += g;
          }
          for (index j = 0; j < n; ++j)
            dx[size(r * n + j)] = (accumulate ? before[size(r * n + j)] : 0.0) +
                                  0.75 * (dy[size(r * n + j)] * gamma[size(j)] - s1 - hat(j) * s2);
        }
        std::vector<T> first_dx, first_dgamma;
        for (index const start : {0, 1, 8}) {
          auto const from = [&](vec const& values) {
            vec out(size(start), 7);
            out.insert(out.end(), values.begin(), values.end());
            return out;
          };
          auto const part = [&](auto const& values) { return std::vector(values.begin() + start, values.end()); };
          array<T> const in(from(x)), g(from(dy)), weight(from(gamma));
          array<T> out(from(before)), weight_out(from(vec(size(n)))), bias_out(from(vec(size(n))));
          device().run(primitives::norm_vjp<true, T>{{count, n, 1},
                                                     out.get() + start,
                                                     weight_out.get() + start,
                                                     bias_out.get() + start,
                                                     g.get() + start,
                                                     in.get() + start,
                                                     weight.get() + start,
                                                     mean.get(),
                                                     rstd.get(),
                                                     accumulate});
          double const t = tolerance<T> * 10;
          check_close(part(out.host()), dx, t);
          check_close(part(weight_out.host()), dgamma, t);
          check_close(part(bias_out.host()), dbeta, t);
          if (start == 0) {
            first_dx = out.raw();
            first_dgamma = weight_out.raw();
          }
          CHECK(differing(part(out.raw()), first_dx) == 0);
          CHECK(differing(part(weight_out.raw()), first_dgamma) == 0);
        }
      }
}

}  // namespace
}  // namespace kernels
