// Parts of a dimension, and the largest numbers of rows, on shards: against plain loops.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

array<std::int32_t> integers(std::vector<double> const& of) { return {of}; }

TEST_CASE_TEMPLATE("parts of a dimension", T, float, double, bfloat16, std::int32_t) {
  struct {
    index outer, n, inner, part, offset, extent;
  } const shards[]{
      {1, 6, 5, 3, 0, 6}, {3, 4, 1, 2, 4, 12}, {7, 8, 40, 8, 0, 8}, {2, 1, 3, 1, 5, 9}, {5, 30, 101, 20, 7, 60}};
  for (auto const& s : shards)
    for (index const start : {index{0}, index{1}, s.offset, s.offset - 1, s.extent - s.part, s.extent, index{-2}}) {
      CAPTURE(start);
      auto const of_x = numbers(s.outer * s.n * s.inner, 1), of_part = numbers(s.outer * s.part * s.inner, 2);
      // One start, or one for each of `outer`.
      for (index const each : {index{0}, index{1}}) {
        std::vector<double> starts(size(each == 0 ? 1 : s.outer));
        for (std::size_t o = 0; o < starts.size(); ++o)
          starts[o] = static_cast<double>(start) + static_cast<double>(o % 3);
        auto const at = integers(starts);
        array<T> const x(of_x), part(of_part), taken(s.outer * s.part * s.inner), put(of_x), cleared(of_x);
        array<T> const unbounded(s.outer * s.part * s.inner);
        device().run(primitives::take_part<T>{s.outer, s.n, s.inner, s.part, s.offset, s.extent, taken.get(), x.get(),
                                              at.get(), each});
        device().run(primitives::take_part<T>{s.outer, s.n, s.inner, s.part, s.offset, 0, unbounded.get(), x.get(),
                                              at.get(), each});
        device().run(
            primitives::put_part<T>{s.outer, s.n, s.inner, s.part, s.offset, put.get(), part.get(), at.get(), each});
        device().run(
            primitives::put_part<T>{s.outer, s.n, s.inner, s.part, s.offset, cleared.get(), nullptr, at.get(), each});
        auto const before = x.host(), given = part.host(), found = taken.host(), all = unbounded.host();
        auto expected = before, zeroed = before;
        for (index o = 0; o < s.outer; ++o)
          for (index p = 0; p < s.part; ++p)
            for (index i = 0; i < s.inner; ++i) {
              index const position = start + each * (o % 3) + p, here = position - s.offset;
              auto const j = size((o * s.part + p) * s.inner + i);
              bool const is_here = here >= 0 && here < s.n;
              double const there = is_here ? before[size((o * s.n + here) * s.inner + i)] : 0;
              CHECK(all[j] == there);
              if (std::is_integral_v<T> || (position >= 0 && position < s.extent))
                CHECK(found[j] == there);
              else
                CHECK(std::isnan(found[j]));
              if (!is_here) continue;
              expected[size((o * s.n + here) * s.inner + i)] = given[j];
              zeroed[size((o * s.n + here) * s.inner + i)] = 0;
            }
        CHECK(put.host() == expected);
        CHECK(cleared.host() == zeroed);
      }
    }
}

TEST_CASE_TEMPLATE("the largest numbers of rows", T, float, double, bfloat16, std::int32_t) {
  struct {
    index blocks, outer, n, inner, k;
  } const rows_of[]{{1, 3, 50, 1, 7}, {1, 2, 9, 5, 9}, {4, 3, 6, 2, 5}, {1, 1, 1, 1, 1}, {1, 1, 300, 40, 3}};
  for (auto const& r : rows_of)
    for (bool const with_ids : {false, true}) {
      if (r.blocks > 1 && !with_ids) continue;
      auto of_x = numbers(r.blocks * r.outer * r.n * r.inner, 3);  // with ties
      if (!std::is_integral_v<T>) of_x[0] = std::nan("");
      // Positions that do not ascend from block to block, as where two axes split the rows.
      std::vector<double> places(of_x.size());
      for (std::size_t e = 0; e < places.size(); ++e) {
        auto const block = static_cast<index>(e) / (r.outer * r.n * r.inner);
        auto const j = static_cast<index>(e) / r.inner % r.n;
        places[e] = static_cast<double>((r.blocks - 1 - block) * r.n + j);
      }
      array<T> const x(of_x), out(r.outer * r.k * r.inner), dx(r.outer * r.n * r.inner);
      auto const ids = integers(places);
      array<std::int32_t> const found_at(r.outer * r.k * r.inner);
      index const offset = with_ids ? 0 : 100;
      device().run(primitives::top_of_rows<T>{r.blocks, r.outer, r.n, r.inner, r.k, offset, out.get(), found_at.get(),
                                              x.get(), with_ids ? ids.get() : nullptr});
      auto const all = x.host(), found = out.host(), at = found_at.host();
      auto const before = [&](std::size_t a, std::size_t b) {
        if (std::isnan(all[a]) || std::isnan(all[b])) return std::isnan(all[a]) && !std::isnan(all[b]);
        return all[a] != all[b] ? all[a] > all[b] : places[a] < places[b];
      };
      for (index o = 0; o < r.outer; ++o)
        for (index i = 0; i < r.inner; ++i) {
          std::vector<std::size_t> row;
          for (index b = 0; b < r.blocks; ++b)
            for (index j = 0; j < r.n; ++j) row.push_back(size(((b * r.outer + o) * r.n + j) * r.inner + i));
          std::ranges::sort(row, before);
          for (index c = 0; c < r.k; ++c) {
            auto const to = size((o * r.k + c) * r.inner + i), from = row[size(c)];
            CHECK((found[to] == all[from] || std::isnan(all[from])));
            CHECK(at[to] == places[from] + static_cast<double>(offset));
          }
        }
      if (r.blocks > 1) continue;
      array<T> const dy(numbers(r.outer * r.k * r.inner, 4));
      device().run(
          primitives::top_of_rows_vjp<T>{r.outer, r.n, r.inner, r.k, offset, dx.get(), dy.get(), found_at.get()});
      auto const given = dy.host();
      std::vector<double> expected(size(r.outer * r.n * r.inner));
      for (index o = 0; o < r.outer; ++o)
        for (index c = 0; c < r.k; ++c)
          for (index i = 0; i < r.inner; ++i) {
            auto const from = size((o * r.k + c) * r.inner + i);
            expected[size((o * r.n + static_cast<index>(at[from]) - offset) * r.inner + i)] = given[from];
          }
      CHECK(dx.host() == expected);
    }
}

}  // namespace
}  // namespace kernels
