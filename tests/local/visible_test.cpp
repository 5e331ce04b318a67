// What queries see of positions: visible's ranges and counts against its definition, and its laws. (That masks, softmax
// and attention see so: the sweep, kernels_rows_test.cpp, kernels_attention_test.cpp.)
// devices: none
// compilers: first
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <mtf/core/visible.hpp>

#include "support/error_of.hpp"

namespace {

using mtf::visible;
using position = visible::position;
using predicate = std::function<bool(position i, position k)>;

struct view {
  visible seen;
  predicate means;
};
view both(view const& a, view const& b) {
  return {a.seen & b.seen, [=](position i, position k) { return a.means(i, k) && b.means(i, k); }};
}
view with_prefix(view const& a, position n) {
  return {a.seen | visible::prefix(n), [=](position i, position k) { return a.means(i, k) || k < n; }};
}
view causal(position offset) {
  return {visible::causal(offset), [=](position i, position k) { return k <= i + offset; }};
}
view window(position n, position offset) {
  return {visible::window(n, offset), [=](position i, position k) { return k <= i + offset && k > i + offset - n; }};
}

std::vector<view> views() {
  view const everything{visible::everything(), [](position, position) { return true; }};
  std::vector<view> all{everything};
  for (position const offset : {0, 1, 5, -3, -20, 100}) {
    all.push_back(causal(offset));
    for (position const n : {0, 1, 4, 30}) all.push_back(window(n, offset));
  }
  for (std::size_t i = 0, n = all.size(); i < n; ++i)
    for (position const prefix : {0, 1, 6, 40}) all.push_back(with_prefix(all[i], prefix));
  // Intersections: of bands all, of those with prefixes those that have one.
  std::vector<view> more;
  for (view const& a : all)
    for (view const& b : all)
      if (error_of([&] { static_cast<void>(a.seen & b.seen); }).empty()) more.push_back(both(a, b));
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_CASE("what each query sees is what was said") {
  constexpr position queries = 9, keys = 11;
  for (auto const& [seen, means] : views()) {
    CAPTURE(to_string(seen));
    double pairs = 0;
    bool right = true;
    for (position i = 0; i < queries; ++i) {
      auto const range = seen.keys(i, keys);
      right =
          right && 0 <= range.prefix && range.prefix <= range.first && range.first <= range.last && range.last <= keys;
      position count = 0;
      for (position k = 0; k < keys; ++k) {
        bool const sees = means(i, k);
        count += sees ? 1 : 0;
        right = right && seen.sees(i, k) == sees && (k < range.prefix || (range.first <= k && k < range.last)) == sees;
        if (!sees) continue;
        right = right && i >= seen.first_query(k, queries) && i < seen.end_of_queries(k, k + 1, queries);
        right = right && k >= seen.first_key(i, keys) && k < seen.end_of_keys(i, keys);
      }
      right = right && range.count() == count;
      pairs += static_cast<double>(count);
    }
    CHECK(right);
    CHECK(seen.pairs(queries, keys) == pairs);
    CHECK((!seen.is_everything() || pairs == queries * keys));
    // Of blocks it may say that they see each other where they do not, never the reverse; of single pairs all is right.
    for (position i = 0; i < queries; i += 2)
      for (position k = 0; k < keys; k += 3) {
        bool some = false;
        for (position a = i; a < i + 2; ++a)
          for (position b = k; b < k + 3; ++b) some = some || means(a, b);
        right =
            right && (!some || seen.sees_some(i, i + 2, k, k + 3)) && seen.sees_some(i, i + 1, k, k + 1) == means(i, k);
      }
    CHECK(right);
  }
}

TEST_CASE("a shard sees what its positions see") {
  for (auto const& [seen, means] : views())
    for (auto const& [query, key] : {std::pair<position, position>{4, 0}, {0, 3}, {7, 5}, {2, 9}}) {
      visible const here = seen.on_shard(query, key);
      bool right = true;
      for (position i = 0; i < 5; ++i)
        for (position k = 0; k < 5; ++k) right = right && here.sees(i, k) == means(query + i, key + k);
      CAPTURE(to_string(seen));
      CHECK(right);
    }
}

TEST_CASE("laws of what is visible") {
  constexpr visible all = visible::everything(), causal = visible::causal(), band = visible::window(4);
  static_assert((causal & all) == causal && (all & band) == band && (band & causal) == band);
  static_assert((causal | visible::prefix(0)) == causal);
  static_assert(visible::causal(3).on_shard(2, 5) == causal);
  static_assert((causal & (band | visible::prefix(2))).keys(9, 20) == mtf::visible_range{2, 6, 10});
  static_assert(visible{} == all && all.is_everything() && !causal.forgets() && band.forgets());
  for (auto const& a : views())
    for (auto const& b : {all, causal, band}) {
      auto const refused = [&] { static_cast<void>(a.seen & b); };
      if (error_of(refused).empty()) CHECK((a.seen & b) == (b & a.seen));
      CHECK((a.seen & a.seen) == a.seen);
    }
}

TEST_CASE("what is visible in words, and what is refused") {
  CHECK(to_string(visible::everything()) == "everything");
  CHECK(to_string(visible::causal(-2)) == "k <= i - 2");
  CHECK(to_string(visible::causal() | visible::prefix(7)) == "k <= i + 0 or k < 7");
  CHECK(to_string(visible::causal() & (visible::window(5) | visible::prefix(2))) == "k <= i + 0, k >= i - 4 or k < 2");
  CHECK(error_of([] { static_cast<void>(visible::window(-1)); }) == "visible::window: a window has at least 0 keys");
  CHECK(error_of([] { static_cast<void>((visible::causal() | visible::prefix(7)) & visible::causal(3)); }) ==
        "visible: what both of these see is no band of keys with a prefix: k <= i + 0 or k < 7; k <= i + 3");
}

}  // namespace
