// Tokens by chance, of the likeliest alone: what docs/recipes.md shows of it, and that every layout chooses the same.
#include "on_ranks.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <mtf/ops/cumulative.hpp>
#include <mtf/ops/indexing.hpp>
#include <mtf/ops/sorting.hpp>

namespace {

struct text : mtf::dim<"text", 8> {};
struct vocab : mtf::dim<"vocab", 16> {};
struct best : mtf::dim<"best", 6> {};

// The next token of each text: one of the 6 likeliest, and of these of the first that together have nine tenths of
// their probability.
constexpr auto chosen = [](auto const& logits, mtf::random_key key) {
  auto const [largest, places] = mtf::top_k<vocab, best>(logits);
  auto const before = mtf::cumulative_sum<best>(mtf::softmax<best>(largest), mtf::cumulative::exclusive);
  auto const kept = mtf::where(before < 0.9, largest, -HUGE_VAL);
  return mtf::gather<best>(places, mtf::categorical<best>(kept, key, 0.8));
};

struct p : mtf::axis<"p", 2> {};
struct q : mtf::axis<"q", 2> {};
using one_rank = mtf::layout<mtf::mesh<>>;
using by_text = mtf::layout<mtf::mesh<p>, mtf::split<text, p>>;
using by_vocab = mtf::layout<mtf::mesh<p>, mtf::split<vocab, p>>;
using by_both = mtf::layout<mtf::mesh<p, q>, mtf::split<text, q>, mtf::split<vocab, p>>;

template <class Layout>
std::vector<std::int32_t> chosen_under(std::vector<float> const& logits, std::uint64_t step) {
  std::vector<std::int32_t> found;
  recipes::on_ranks<Layout>([&](recipes::backend& machine) {
    using real = mtf::place<float, Layout, recipes::backend>;
    auto const x = mtf::from_global<typename real::template tensor<text, vocab>>(machine, logits);
    auto const all = mtf::to_global(chosen(x, mtf::random_key(1).of(step)));
    if (machine.ranks().rank() == 0) found = all;
  });
  return found;
}

TEST_CASE("tokens are chosen by chance among the likeliest, the same under every layout") {
  std::vector<float> logits;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 16; ++j) logits.push_back(static_cast<float>((i * 5 + j * 7) % 16) / 2);
  std::vector<int> times(16);
  for (std::uint64_t step = 0; step < 50; ++step) {
    auto const tokens = chosen_under<one_rank>(logits, step);
    REQUIRE(tokens.size() == 8);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      double const logit = logits[i * 16 + static_cast<std::size_t>(tokens[i])];
      CHECK(logit >= 6);  // of e^7.5, e^7, ... e^5 the first three have 0.82, the first four 0.91
      ++times[static_cast<std::size_t>(2 * logit)];
    }
    if (step % 10 != 0) continue;
    CHECK(chosen_under<by_text>(logits, step) == tokens);
    CHECK(chosen_under<by_vocab>(logits, step) == tokens);
    CHECK(chosen_under<by_both>(logits, step) == tokens);
  }
  for (std::size_t i = 12; i < 15; ++i) CHECK(times[i] < times[i + 1]);
}

// With the vocabulary split, two all-gathers: each rank's six largest logits of a text, and their places.
constexpr auto plan = mtf::plan_of<by_vocab>([](auto const& x) { return chosen(x, mtf::random_key(1)); },
                                             mtf::input<float, text, vocab>{});
static_assert(plan.count() == 2 && plan.count(mtf::collective_kind::all_gather) == 2);

}  // namespace
