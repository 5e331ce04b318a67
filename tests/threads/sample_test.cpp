// Positions that ranks draw are those that one thread draws, wherever rows and logits are split, with pads and without.
// devices: none
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/math/sample.hpp>
#include <mtf/ops/sorting.hpp>

#include "support/ranks_as_threads.hpp"

namespace {

struct row : mtf::dim<"row"> {};
struct column : mtf::dim<"column", 4> {};
struct vocab : mtf::dim<"vocab"> {};

template <class T, class... D>
using of_ranks = typename mtf::place<T, mtf::any_layout<>, thread_backend>::template tensor<D...>;
using ids = std::vector<std::int32_t>;

/// Logits [row, vocab, column] and what each row (row, column) is drawn by.
struct problem {
  std::size_t rows, n;
  std::vector<float> logits, temperature, min_p, top_p;
  std::vector<double> uniform;
  ids top_k;

  problem(std::size_t rows_of, std::size_t n_of, unsigned seed) : rows(rows_of), n(n_of), logits(rows * n * 4) {
    std::mt19937 random(seed);
    auto const any = [&](float low, float high) { return std::uniform_real_distribution<float>(low, high)(random); };
    for (float& z : logits) z = any(0, 1) < 0.05F ? std::numeric_limits<float>::quiet_NaN() : any(-3, 3);
    for (std::size_t i = 0; i < rows * 4; ++i) {
      temperature.push_back(any(0, 1) < 0.2F ? 0 : any(0.2F, 2));
      min_p.push_back(any(0, 1) < 0.5F ? 0 : any(0, 0.5F));
      top_p.push_back(any(0.3F, 1.3F));
      top_k.push_back(static_cast<std::int32_t>(any(0, 9)));
      uniform.push_back(std::uniform_real_distribution<double>(0, 1)(random));
    }
  }
  [[nodiscard]] mtf::sample_options each(std::size_t i) const {
    return {.temperature = temperature[i], .min_p = min_p[i], .top_k = top_k[i], .top_p = top_p[i]};
  }
  template <class F>
  [[nodiscard]] ids by_one_thread(F const& how) const {
    ids all;
    for (std::size_t i = 0; i < rows * 4; ++i) {
      std::vector<float> z;
      for (std::size_t v = 0; v < n; ++v) z.push_back(logits[(i / 4 * n + v) * 4 + i % 4]);
      all.push_back(mtf::math::sampled_row(mtf::math::one_thread{}, static_cast<std::int64_t>(n),
                                           mtf::math::dense_logits{z.data()})
                        .drawn(how(i), uniform[i]));
    }
    return all;
  }
};

TEST_CASE("what ranks draw is what one thread draws") {
  constexpr mtf::sample_options same{.temperature = 0.9F, .min_p = 0.02F, .top_k = 12, .top_p = 0.9F};
  for (std::size_t const n : {1, 2, 7, 12, 33})
    for (std::size_t const rows : {1, 2, 3, 8}) {
      problem const p(rows, n, static_cast<unsigned>(n * 10 + rows));
      auto const each = p.by_one_thread([&](std::size_t i) { return p.each(i); });
      auto const all = p.by_one_thread([&](std::size_t) { return same; });
      for (std::string const rules :
           {"", "row:p", "vocab:p", "vocab:q+p", "row:q;vocab:p", "column:p;vocab:q", "row:p;column:q", "column:q+p"}) {
        CAPTURE(n);
        CAPTURE(rows);
        CAPTURE(rules);
        on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
          b.layouts().add(mtf::layout_from<row, column, vocab>(mtf::mesh_from("p:2;q:2"), rules));
          b.layouts().give(mtf::extents_from("vocab:" + std::to_string(n) + "/4;row:" + std::to_string(rows) + "/4"));
          auto const logits = mtf::from_global<of_ranks<float, row, vocab, column>>(b, p.logits);
          using floats = of_ranks<float, row, column>;
          auto const uniform = mtf::from_global<of_ranks<double, row, column>>(b, p.uniform);
          auto const top_k = mtf::from_global<of_ranks<std::int32_t, row, column>>(b, p.top_k);
          auto const temperature = mtf::from_global<floats>(b, p.temperature),
                     min_p = mtf::from_global<floats>(b, p.min_p), top_p = mtf::from_global<floats>(b, p.top_p);
          CHECK(mtf::to_global(mtf::sample<vocab>(logits, uniform, temperature, min_p, top_k, top_p)) == each);
          CHECK(mtf::to_global(mtf::sample<vocab>(logits, uniform, same)) == all);
          // Of rows in another order, and of one alone.
          auto const turned = mtf::transpose<column, row>(uniform);
          CHECK(mtf::to_global(mtf::sample<vocab>(logits, turned, same)) == all);
        });
      }
    }
}

TEST_CASE("one row, and numbers of any floating type") {
  std::vector<float> const z{0, 2, 1, 2};
  on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
    b.layouts().add(mtf::layout_from<vocab>(mtf::mesh_from("p:2;q:2"), "vocab:q"));
    b.layouts().give(mtf::extents_from("vocab:4"));
    auto const logits = mtf::from_global<of_ranks<float, vocab>>(b, z);
    auto const first = mtf::reduce_max<vocab>(logits) * 0.25;  // 0.5
    auto const drawn = mtf::sample<vocab>(logits, first, {.top_k = 1});
    CHECK(mtf::to_global(drawn) == ids{3});
    CHECK(mtf::to_global(mtf::sample<vocab>(mtf::cast<mtf::bfloat16>(logits), first * 0.5, {.top_k = 1})) == ids{1});
    CHECK(mtf::to_global(mtf::sample<vocab>(logits, first, {.temperature = 0})) == ids{1});
  });
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
