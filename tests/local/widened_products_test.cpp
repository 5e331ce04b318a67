// Products of bfloat16 on processors that multiply float faster: which these are; such products are rounded once.
// devices: none
// compilers: first
#include "kernels_fixture.hpp"

namespace kernels {

TEST_CASE("where products of bfloat16 pay is a matter of the processor's kind") {
  using units = mtf::kokkos::bfloat16_units;
  units const zen4{.dot = true, .amd = true, .known = true}, zen3{.amd = true, .known = true};
  units const sapphire_rapids{.amx = true, .described = true, .dot = true, .known = true};
  units const with_hidden_amx{.amx = true, .dot = true, .known = true}, cooper_lake{.dot = true, .known = true};
  units const skylake{.known = true}, another_architecture{};
  for (auto const& u : {zen4, sapphire_rapids, another_architecture}) CHECK(u.pay());
  for (auto const& u : {zen3, with_hidden_amx, cooper_lake, skylake}) CHECK(!u.pay());
}

TEST_CASE("widened products of bfloat16") {
  using exec = Kokkos::DefaultExecutionSpace;
  mtf::kokkos::device<exec> on{exec{}};
  mtf::kokkos::contractor<exec> products(true);
  enum class with { nothing, result, bias };
  // Heads inside the rows, as in attention: operands and results have holes, which stay as they are.
  constexpr index heads = 3, m = 20, n = 34, k = 50;
  for (int transposed = 0; transposed < 4; ++transposed)
    for (auto const to_what : {with::nothing, with::result, with::bias}) {
      bool const ta = (transposed & 1) != 0, tb = (transposed & 2) != 0, accumulate = to_what == with::result;
      bool const batched = to_what != with::bias;
      index const row = batched ? heads : 1;
      mtf::backend::contraction w = product_of(m, n, k, ta, tb, row * (ta ? m : k), tb ? k : n);
      w.c_m = row * n;
      if (batched) w.batch = {1, {heads - 1}, {{{ta ? m : k}, {k * n}, {n}}}};
      array<bfloat16> a(numbers(row * m * k, 1)), b(numbers(heads * k * n, 2)), c(numbers(row * m * n, 3));
      array<bfloat16> const bias(numbers(n, 4));
      auto const ah = a.host(), bh = b.host(), bias_h = bias.host(), before = c.host();
      products.contract(on, w, static_cast<bfloat16 const*>(a.get()), static_cast<bfloat16 const*>(b.get()), c.get(),
                        accumulate, to_what == with::bias ? static_cast<bfloat16 const*>(bias.get()) : nullptr);
      on.exec.fence();
      auto const found = c.host();
      auto expected = before;
      for (index h = 0; h < (batched ? heads - 1 : 1); ++h)
        for (index i = 0; i < m; ++i)
          for (index j = 0; j < n; ++j) {
            auto const at = static_cast<std::size_t>((batched ? h * n : 0) + i * w.c_m + j);
            double s = accumulate ? before[at] : to_what == with::bias ? bias_h[static_cast<std::size_t>(j)] : 0.0;
            for (index q = 0; q < k; ++q)
              s += ah[static_cast<std::size_t>((batched ? h * w.batch.stride[0][0] : 0) + i * w.a_m + q * w.a_k)] *
                   bh[static_cast<std::size_t>((batched ? h * k * n : 0) + q * w.b_k + j * w.b_n)];
            expected[at] = s;
          }
      for (std::size_t i = 0; i < found.size(); ++i)  // rounded once: half of a unit in the last place, and float's sum
        CHECK(std::abs(found[i] - expected[i]) <= 0x1p-8 * std::abs(expected[i]) + 1e-5);
    }
}

}  // namespace kernels
