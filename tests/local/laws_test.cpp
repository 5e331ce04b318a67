// The laws that tests/static asserts, on larger meshes: the rules are the same functions at run time.
#include <doctest/doctest.h>

#include <memory>
#include <static/shardings.hpp>
#include <support/relayout_laws.hpp>
#include <support/rule_laws.hpp>

namespace {

using by_hand::mesh;
using by_hand::of;
using laws::mesh_shape;
using laws::sharding;

/// All pairs: what the ranks hold, what is sent, and what is gathered. Without `Elements` nothing is carried out.
template <int Most, int Ranks, int Elements>
void check_pairs(mesh_shape const& m, sharding const& whole, bool divisible) {
  auto const w = std::make_unique<laws::ways<Most>>(laws::all_ways<Most>(m, whole));
  auto const moves = std::make_unique<laws::moves<Most, Ranks>>(laws::all_moves<Ranks>(m, *w));
  int pairs = 0, wrong = 0, dear = 0, in_vain = 0;
  for (int i = 0; i < w->size; ++i)
    for (int j = 0; j < w->size; ++j) {
      auto const &from = w->at[i], &to = w->at[j];
      if (!laws::is_relayout(from, to)) continue;
      ++pairs;
      if constexpr (Elements > 0) wrong += laws::brings<Elements, Ranks>(m, from, to) ? 0 : 1;
      dear += laws::is_least(m, *w, *moves, i, j) ? 0 : 1;
      in_vain += !divisible || laws::gathers_for_good(mtf::detail::derive_relayout(m, from, to)) ? 0 : 1;
    }
  MESSAGE(pairs << " pairs of " << w->size << " ways");
  CHECK(wrong == 0);
  CHECK(dear == 0);
  CHECK(in_vain == 0);
}

TEST_CASE("relayouts between all ways to lie on three axes bring the tensor and send the least") {
  check_pairs<176, 8, 512>(mesh({2, 2, 2}), of({{1, 8}, {2, 8}, {3, 8}}), true);
  check_pairs<176, 12, 288>(mesh({2, 3, 2}, 0b101), of({{1, 12}, {2, 6}, {3, 4}}), false);
  check_pairs<176, 24, 0>(mesh({2, 3, 4}), of({{1, 24}, {2, 24}, {3, 24}}), true);
  check_pairs<176, 24, 0>(mesh({4, 3, 2}, 0b100), of({{1, 24}, {2, 12}, {3, 8}}), false);
}

TEST_CASE("relayouts bring the tensor where more axes change than the search takes in every way") {
  auto const m = mesh({2, 2, 2, 2});
  auto const w = std::make_unique<laws::ways<536>>(laws::all_ways<536>(m, of({{1, 16}, {2, 16}})));
  int pairs = 0, wrong = 0;
  for (int n = 0; n < w->size * w->size; n += 61) {
    auto const &from = w->at[n / w->size], &to = w->at[n % w->size];
    if (!laws::is_relayout(from, to)) continue;
    ++pairs;
    wrong += laws::brings<256, 16>(m, from, to) ? 0 : 1;
  }
  MESSAGE(pairs << " pairs of " << w->size << " ways");
  CHECK(wrong == 0);

  auto const six = mesh({2, 2, 2, 2, 2, 2});
  using one = std::array<sharding, 2>;
  for (auto const& [from, to] :
       {one{of({{1, 8, {0, 1, 2}}, {2, 8, {3, 4, 5}}}), of({{1, 8, {5, 4, 3}}, {2, 8, {2, 1, 0}}})},
        one{of({{1, 8, {0, 1, 2}}, {2, 8, {3, 4, 5}}}), of({{1, 8}, {2, 8}})},
        one{of({{1, 8}, {2, 8}}), of({{1, 8, {0, 5, 2}}, {2, 8, {3, 4, 1}}})},
        one{of({{1, 8, {0}}, {2, 8}}, 0b111110), of({{1, 8, {5, 0}}, {2, 8, {3, 4}}}, 0b10)},
        one{of({{1, 8, {5}}, {2, 8}}, 0b11111), of({{1, 8, {4, 3}}, {2, 8, {5, 2}}})}})
    CHECK(laws::brings<64, 64>(six, from, to));
}

template <int Most, int Ranks, int Elements>
void check_triples(mesh_shape const& m, sharding const& whole) {
  auto const w = laws::all_ways<Most>(m, whole);
  int triples = 0, wrong = 0;
  for (int i = 0; i < w.size; ++i)
    for (int j = 0; j < w.size; ++j)
      for (int k = 0; k < w.size; ++k)
        if (laws::is_relayout(w.at[i], w.at[j]) && laws::is_relayout(w.at[j], w.at[k])) {
          ++triples;
          wrong += laws::composes<Elements, Ranks>(m, w.at[i], w.at[j], w.at[k]) ? 0 : 1;
        }
  MESSAGE(triples << " triples of " << w.size << " ways");
  CHECK(wrong == 0);
}

TEST_CASE("two relayouts, one after the other, are one") {
  check_triples<18, 4, 16>(mesh({2, 2}, 0b10), of({{1, 4}, {2, 4}}));
  check_triples<18, 6, 36>(mesh({2, 3}), of({{1, 6}, {2, 6}}));
  check_triples<28, 6, 36>(mesh({2, 3}), of({{1, 6}, {2, 3}, {3, 2}}));
}

TEST_CASE("verdicts know no names and no order of operands") {
  int cases = 0, wrong = 0;
  auto const check = [&](laws::operands const& in) {
    ++cases;
    bool alike = laws::ordered_alike(in);
    for (auto const& by : laws::renamings) alike = alike && laws::named_alike(in, by);
    wrong += alike ? 0 : 1;
  };
  for (int a = 0; a < laws::ways_to_split; ++a)
    for (int b = 0; b < laws::ways_to_split; ++b)
      for (int c = 0; c < laws::ways_to_split; ++c)
        for (int d = 0; d < laws::ways_to_split; ++d) {
          auto const n = static_cast<unsigned>(a * 31 + b * 17 + c * 5 + d);
          check(laws::two_operands({a, b, c, d}, {n % 8, n / 8 % 8}));
          if (n % 16 == 0) check(laws::two_operands({a, b, c, d}, {n % 8, n / 8 % 8}, 12));
          // Split without a mistake, all sums.
          auto const in = laws::two_operands({a, b, c, d}, {0, 0});
          if (laws::all_mistakes(in).size == 0)
            for (unsigned p = 0; p < 64; ++p) check(laws::two_operands({a, b, c, d}, {p % 8, p / 8}));
        }
  MESSAGE(cases << " pairs of operands");
  CHECK(wrong == 0);
}

}  // namespace
