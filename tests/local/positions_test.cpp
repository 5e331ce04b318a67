// Positions against transformers' (tests/reference/make_positions.py).
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/single_rank.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/nn/positions.hpp>

#include "../../models/llama/settings.hpp"
#include "reference/reference.hpp"

namespace {

using backend = mtf::kokkos_backend<>;
using one_rank = mtf::layout<mtf::mesh<>>;
template <int N>
struct heads : mtf::dim<"heads", N> {};
struct query : mtf::dim<"query", 3> {};
struct key : mtf::dim<"key", 1400> {};
struct length : mtf::dim<"length", 50> {};
struct model : mtf::dim<"model", 12> {};
struct odd : mtf::dim<"odd", 5> {};

struct fixture {
  mtf::reference::file all{std::string(MTF_TEST_DIR) + "/reference/positions.bin"};
  mtf::single_rank alone;
  backend machine{alone};
};
/// The largest difference.
double apart(auto const& found, std::vector<double> const& want) {
  REQUIRE(found.size() == want.size());
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    most = std::fmax(most, std::abs(static_cast<double>(found[i]) - want[i]));
  return most;
}

}  // namespace

TEST_CASE("ALiBi's slopes are transformers', also of heads that are no power of two") {
  fixture f;
  auto const check = [&]<int N>(std::integral_constant<int, N>) {
    auto const found = mtf::to_global(mtf::alibi_slopes<heads<N>, one_rank, double>(f.machine));
    CHECK(apart(found, f.all["alibi." + std::to_string(N)].values) < 1e-7);
  };
  [&]<int... N>(std::integer_sequence<int, N...>) {
    (check(std::integral_constant<int, N>{}), ...);
  }(std::integer_sequence<int, 1, 2, 6, 8, 12, 71>{});
}

TEST_CASE("ALiBi's bias is a slope times minus the distance") {
  fixture f;
  auto const slopes = mtf::to_global(mtf::alibi_slopes<heads<6>, one_rank>(f.machine));
  auto const bias = mtf::to_global(mtf::alibi_bias<heads<6>, query, key, one_rank>(f.machine, 5));
  std::vector<double> want;
  for (float const slope : slopes)
    for (int q = 0; q < 3; ++q)
      for (int k = 0; k < 1400; ++k)
        want.push_back(-static_cast<double>(slope * static_cast<float>(std::abs(q + 5 - k))));
  CHECK(apart(bias, want) == 0);
}

TEST_CASE("the buckets of distances are T5's") {
  fixture f;
  auto const check = [&](mtf::position_buckets const& to, char const* name) {
    CAPTURE(name);
    auto const& want = f.all[name].values;  // of distances from -700 on
    // Query q is at 700 + q: key k is k - 700 - q ahead of it.
    auto const found = mtf::to_global(mtf::relative_position_bucket<query, key, one_rank>(f.machine, to, 700));
    int wrong = 0;
    for (int q = 0; q < 3; ++q)
      for (int k = q; k < 1400; ++k)
        wrong += found[static_cast<std::size_t>(q * 1400 + k)] == want[static_cast<std::size_t>(k - q)] ? 0 : 1;
    CHECK(wrong == 0);
  };
  check({}, "buckets.both");
  check({.bidirectional = false}, "buckets.before");
  check({.count = 64, .max_distance = 512}, "buckets.more");
  check({.bidirectional = false, .count = 6, .max_distance = 20}, "buckets.few");
}

TEST_CASE("buckets that cannot be are refused") {
  fixture f;
  auto const make = [&](mtf::position_buckets const& to) {
    static_cast<void>(mtf::relative_position_bucket<query, key, one_rank>(f.machine, to));
  };
  CHECK_THROWS_WITH_AS(make({.count = 2}),
                       "relative_position_bucket: there must be at least 4 buckets, an even number, and a max_distance "
                       "above those of one position each; not 2 and 128",
                       mtf::user_error);
  CHECK_THROWS_AS(make({.count = 31}), mtf::user_error);
  CHECK_THROWS_AS(make({.bidirectional = false, .count = 32, .max_distance = 16}), mtf::user_error);
  CHECK_NOTHROW(make({.bidirectional = false, .count = 32, .max_distance = 17}));
}

TEST_CASE("sinusoids are the paper's, or Marian's") {
  fixture f;
  CHECK(apart(mtf::to_global(mtf::sinusoids<length, model, one_rank, double>(f.machine)),
              f.all["sinusoids.neighbours"].values) < 1e-14);
  CHECK(apart(mtf::to_global(mtf::sinusoids<length, model, one_rank>(f.machine, mtf::rotary_pairs::halves)),
              f.all["sinusoids.halves"].values) < 1e-6);
  auto const all = mtf::to_global(mtf::sinusoids<length, model, one_rank>(f.machine));
  auto const later =
      mtf::to_global(mtf::sinusoids<length, model, one_rank>(f.machine, mtf::rotary_pairs::neighbours, 7));
  CHECK(std::vector<double>(all.begin() + 7 * 12, all.end()) ==
        std::vector<double>(later.begin(), later.end() - 7 * 12));
  CHECK_THROWS_WITH_AS((mtf::sinusoids<length, odd, one_rank>(f.machine)),
                       "sinusoids: the elements of odd are sines and cosines, but they are 5, an odd number",
                       mtf::user_error);
}

TEST_CASE("YaRN's cosines and sines are transformers'") {
  fixture f;
  auto const check = [&](std::string const& name, int head, mtf::llama::settings const& s) {
    CAPTURE(name);
    std::vector<float> cosines, sines;
    for (int position = 0; position < 40; ++position)
      for (int i = 0; i < head; ++i) {
        auto const at = static_cast<float>(7 * position), index = static_cast<float>(i);
        cosines.push_back(mtf::llama::rotary_angle{s, static_cast<float>(head), false}(at, index));
        sines.push_back(mtf::llama::rotary_angle{s, static_cast<float>(head), true}(at, index));
      }
    CHECK(apart(cosines, f.all["yarn." + name + ".cosines"].values) < 5e-5);  // angles up to 273, in float
    CHECK(apart(sines, f.all["yarn." + name + ".sines"].values) < 5e-5);
  };
  using enum mtf::llama::rotary_scaling;
  check("plain", 16, {.scaling = yarn, .factor = 4, .original_positions = 256});
  check("exact", 12,
        {.theta = 500,
         .scaling = yarn,
         .factor = 8,
         .original_positions = 512,
         .beta_fast = 20,
         .beta_slow = 2,
         .attention_factor = 1.25,
         .truncate = false});
  double const grown = (0.1 * 0.7 * std::log(16.0) + 1) / (0.1 * std::log(16.0) + 1);
  check("deep", 8,
        {.theta = 1000, .scaling = yarn, .factor = 16, .original_positions = 128, .attention_factor = grown});
}
