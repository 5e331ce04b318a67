// Products read their operands and nothing else: what lies between and behind rows, and what other rows hold, goes
// nowhere, also where it is NaN.
#include <limits>

#include "kernels_fixture.hpp"

namespace kernels {

TEST_CASE_TEMPLATE("contract: what lies between rows is not read", T, float, double, bfloat16) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (index const m : {3, 70, 512})  // the last is large enough for the tiles of AMX
    for (index const n : {33, 100})
      for (index const k : {1, 7, 33, 64})
        for (index const gap : {1, 3, 7})
          for (int transposed = 0; transposed < (m == 512 && gap > 1 ? 0 : 4); ++transposed) {
            bool const ta = (transposed & 1) != 0, tb = (transposed & 2) != 0;
            constexpr index batch = 2;
            index const a_row = (ta ? m : k) + gap, b_row = (tb ? k : n) + gap;
            index const a_size = (ta ? k : m) * a_row, b_size = (tb ? n : k) * b_row;
            mtf::backend::contraction w = product_of(m, n, k, ta, tb, a_row, b_row);
            w.batch = {1, {batch}, {{{a_size}, {b_size}, {m * n}}}};
            auto const with_gaps = [&](index count, index row, unsigned seed) {
              auto x = numbers(count, seed);
              for (std::size_t i = 0; i < x.size(); ++i)
                if (static_cast<index>(i) % row >= row - gap) x[i] = nan;
              return x;
            };
            array<T> const a(with_gaps(batch * a_size, a_row, 1)), b(with_gaps(batch * b_size, b_row, 2));
            array<T> c(numbers(batch * m * n, 3));
            device().run(primitives::contract{w, a.get(), b.get(), c.get(), false, static_cast<T*>(nullptr)});
            auto const ah = a.host(), bh = b.host();
            std::vector<double> expected;
            for (index h = 0; h < batch; ++h)
              for (index i = 0; i < m; ++i)
                for (index j = 0; j < n; ++j) {
                  double s = 0;
                  for (index q = 0; q < k; ++q)
                    s += ah[size(h * a_size + i * w.a_m + q * w.a_k)] * bh[size(h * b_size + q * w.b_k + j * w.b_n)];
                  expected.push_back(s);
                }
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            CAPTURE(gap);
            CAPTURE(transposed);
            check_close(c.host(), expected, tolerance<T>);
          }
}

TEST_CASE_TEMPLATE("contract: a row of NaN is no other row's", T, float, double, bfloat16) {
  constexpr index n = 768, bad = 41;
  for (index const m : {60, 128})
    for (index const k : {7, 64, 65}) {
      auto rows = numbers(m * k, 1);
      for (index q = 0; q < k; ++q) rows[size(bad * k + q)] = std::numeric_limits<double>::quiet_NaN();
      mtf::backend::contraction const w = product_of(m, n, k, false, false, k, n);
      array<T> const a(rows), b(numbers(k * n, 2));
      array<T> c(m * n);
      device().run(primitives::contract{w, a.get(), b.get(), c.get(), false, static_cast<T*>(nullptr)});
      auto const found = c.host();
      CAPTURE(m);
      CAPTURE(k);
      for (index i = 0; i < m * n; ++i) {
        CAPTURE(i);
        CHECK(std::isnan(found[size(i)]) == (i / n == bad));
      }
    }
}

}  // namespace kernels
