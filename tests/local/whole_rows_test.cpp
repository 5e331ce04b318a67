// Products of bfloat16 in parts whose rows tensor cores take, of matrices whose rows begin anywhere.
#include <doctest/doctest.h>

#include <mtf/kokkos/gemm/contract.hpp>
#include <mtf/kokkos/gemm/whole_rows.hpp>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

using mtf::backend::contraction;

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

}  // namespace

TEST_CASE("products in parts with whole rows equal the products") {
  mtf::kokkos::resources<Kokkos::DefaultExecutionSpace> on{};
  enum class with { nothing, result, bias };
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
              auto const ah = a.host(), bh = b.host(), bias_h = bias.host();
              auto expected = c.host();
              for (index i = 0; i < w.m; ++i)
                for (index j = 0; j < w.n; ++j) {
                  double& to = expected[size(first + i * w.c_m + j)];
                  if (to_what != with::result) to = to_what == with::bias ? bias_h[size(j)] : 0.0;
                  for (index q = 0; q < w.k; ++q)
                    to += ah[size(first + i * w.a_m + q * w.a_k)] * bh[size(first + q * w.b_k + j * w.b_n)];
                }
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

}  // namespace kernels
