// Products of bfloat16 in parts whose rows tensor cores take, of matrices whose rows begin anywhere.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos/gemm/contract.hpp>
#include <mtf/kokkos/gemm/whole_rows.hpp>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

using mtf::backend::contraction;
using vec = std::vector<double>;

struct product_shape {
  index m, n, k;
};

/// A contraction of matrices whose rows have `gap` elements between them.
contraction contraction_of(product_shape const& s, bool ta, bool tb, index gap) {
  index const a = (ta ? s.m : s.k) + gap, b = (tb ? s.k : s.n) + gap;
  return {.batch = {},
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .a_m = ta ? 1 : a,
          .a_k = ta ? a : 1,
          .b_k = tb ? 1 : b,
          .b_n = tb ? b : 1,
          .c_m = s.n + gap,
          .c_n = 1};
}

enum class with { nothing, result, bias };

/// a b in double, and what is added to it; of `c` as it was.
vec product_of(contraction const& w, vec const& a, vec const& b, vec c, with to_what, vec const& bias,
               std::size_t first) {
  for (index i = 0; i < w.m; ++i)
    for (index j = 0; j < w.n; ++j) {
      double& to = c[first + size(i * w.c_m + j)];
      if (to_what != with::result) to = to_what == with::bias ? bias[size(j)] : 0.0;
      for (index q = 0; q < w.k; ++q)
        to += a[first + size(i * w.a_m + q * w.a_k)] * b[first + size(q * w.b_k + j * w.b_n)];
    }
  return c;
}

}  // namespace

TEST_CASE("products in parts with whole rows equal the products") {
  mtf::kokkos::resources<Kokkos::DefaultExecutionSpace> on{Kokkos::DefaultExecutionSpace{}};
  std::size_t parts = 0;
  for (auto const& shape : {product_shape{300, 37, 29}, {40, 301, 64}, {129, 128, 65}, {64, 64, 64}, {1, 9, 300}})
    for (bool const ta : {false, true})
      for (bool const tb : {false, true})
        for (index const gap : {0, 3})
          for (index const first : {0, 1})  // where the matrices begin: at 64 bytes, or an element behind
            for (auto const to_what : {with::nothing, with::result, with::bias}) {
              contraction const w = contraction_of(shape, ta, tb, gap);
              index const a_size = ta ? w.k * w.a_k : w.m * w.a_m, b_size = tb ? w.n * w.b_n : w.k * w.b_k;
              array<bfloat16> const a(numbers(first + a_size, 1)), b(numbers(first + b_size, 2)), bias(numbers(w.n, 3));
              array<bfloat16> c(numbers(first + w.m * w.c_m, 4));
              vec const expected =
                  product_of(w, a.host(), b.host(), c.host(), to_what, bias.host(), static_cast<std::size_t>(first));
              auto const multiply = [&](contraction const& part, bfloat16 const* x, bfloat16 const* y, bfloat16* z,
                                        bool accumulate, bfloat16 const* added) {
                ++parts;
                CHECK_FALSE(mtf::kokkos::copied_operands(part, x, y, z).any());
                compute(on, mtf::primitives::contract{part, x, y, z, accumulate, added});
              };
              constexpr index most_elements = 10000;
              mtf::kokkos::multiply_in_parts(on, w, a.get() + first, b.get() + first, c.get() + first,
                                             to_what == with::result, to_what == with::bias ? bias.get() : nullptr,
                                             multiply, most_elements);
              on.exec.fence();
              CAPTURE(w.m);
              CAPTURE(ta);
              CAPTURE(tb);
              CAPTURE(gap);
              CAPTURE(first);
              check_close(c.host(), expected, tolerance<bfloat16>);
            }
  CHECK(parts == 48 * (2 + 3 + 2 + 1 + 1));
}

TEST_CASE("products whose rows begin whole and end anywhere equal the products, and nothing is copied") {
  mtf::kokkos::resources<Kokkos::DefaultExecutionSpace> on{Kokkos::DefaultExecutionSpace{}};
  auto const whole = [](index n) { return mtf::kokkos::whole_elements(n); };
  for (auto const& [m, n, k] : {product_shape{300, 37, 29},
                                {40, 301, 64},
                                {129, 128, 65},
                                {64, 64, 64},
                                {1, 9, 300},
                                {5, 7, 3},
                                {33, 1, 8},
                                {1, 8, 1}})
    for (bool const ta : {false, true})
      for (bool const tb : {false, true})
        for (auto const to_what : {with::nothing, with::result, with::bias}) {
          index const a_row = whole(ta ? m : k), b_row = whole(tb ? k : n);
          contraction w = product_of(m, n, k, ta, tb, a_row, b_row);
          w.c_m = whole(n);
          // Pads are NaN.
          vec x = numbers(a_row * (ta ? k : m), 1), y = numbers(b_row * (tb ? n : k), 2), z = numbers(w.c_m * m, 4);
          auto const poisoned = [](vec& of, index row, index used) {
            for (std::size_t i = 0; i < of.size(); ++i)
              if (static_cast<index>(i) % row >= used) of[i] = std::numeric_limits<double>::quiet_NaN();
          };
          poisoned(x, a_row, ta ? m : k);
          poisoned(y, b_row, tb ? k : n);
          array<bfloat16> const a(x), b(y), bias(numbers(n, 3));
          array<bfloat16> const c(z);
          REQUIRE(mtf::kokkos::all_rows_begin_whole(w, a.get(), b.get(), c.get()));
          auto const multiply = [&](contraction const& part, bfloat16 const* at_a, bfloat16 const* at_b, bfloat16* at_c,
                                    bool accumulate, bfloat16 const* added) {
            CHECK(mtf::kokkos::all_rows_begin_whole(part, at_a, at_b, at_c));
            bool const rest = part.n < 8 || part.k < 8;
            CHECK((rest || !mtf::kokkos::copied_operands(part, at_a, at_b, at_c).any()));
            compute(on, mtf::primitives::contract{part, at_a, at_b, at_c, accumulate, added});
          };
          mtf::kokkos::multiply_with_rests(w, a.get(), b.get(), c.get(), to_what == with::result,
                                           to_what == with::bias ? bias.get() : nullptr, multiply);
          on.exec.fence();
          CAPTURE(w.m);
          CAPTURE(w.n);
          CAPTURE(ta);
          CAPTURE(tb);
          // What is left over of k, and what the sum begins with, is rounded to bfloat16 once more: by 2^-9.
          vec const ah = a.host(), bh = b.host(), got = c.host(), before = bias.host();
          vec const expected = product_of(w, ah, bh, z, to_what, before, 0);
          index const rest = !ta || tb ? k % 8 : 0;
          double worst = 0;
          for (index i = 0; i < m; ++i)
            for (index j = 0; j < n; ++j) {
              double first = to_what == with::result ? z[size(i * w.c_m + j)]
                             : to_what == with::bias ? before[size(j)]
                                                     : 0;
              for (index q = k - rest; q < k; ++q)
                first += ah[size(i * w.a_m + q * w.a_k)] * bh[size(q * w.b_k + j * w.b_n)];
              double const e = expected[size(i * w.c_m + j)], once = rest > 0 ? std::abs(first) / 512 : 0;
              worst = std::max(worst, (std::abs(got[size(i * w.c_m + j)] - e) - once) / (1 + std::abs(e)));
            }
          CHECK(worst <= tolerance<bfloat16>);
          for (std::size_t i = 0; i < got.size(); ++i)
            if (static_cast<index>(i) % w.c_m >= n) REQUIRE(got[i] == z[i]);
        }
}

}  // namespace kernels
