// What an exchange derives on all ranks of a mesh: every wanted position comes once, from a rank that has it; the ranks
// agree on permutes and their partners; an exchange sends what crosses and no more. devices: none compilers: first
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/exchange.hpp>

namespace {

using mtf::axis_list;
using mtf::axis_mask;
using mtf::mesh_shape;
using mtf::backend::index;
using namespace mtf::detail;

mesh_shape mesh_of(std::initializer_list<int> extents) {
  mesh_shape m;
  for (int const e : extents) m.extent[m.ndim++] = e;
  return m;
}
dim_split split_over(index extent, std::initializer_list<int> axes) {
  dim_split c{extent, {}};
  for (int const a : axes) c.split.push(a);
  return c;
}
using two_movements = std::array<movement, 2>;
movement moved(stretch const& of, dim_split const& from, dim_split const& to) {
  return {of, from, to, from.split.mask()};
}

/// Positions that each pair of ranks exchanges, one by one: (receiver, sender).
std::map<std::pair<int, int>, index> crossing(mesh_shape const& mesh, two_movements const& all) {
  std::map<std::pair<int, int>, index> n;
  for (auto const& m : all)
    for (index t = 0; t < m.of.count; ++t)
      for (int r = 0; r < mesh.size(); ++r) {
        index const to = m.of.to + t * m.of.to_step - m.to.begin(mesh, r);
        if (to < 0 || to >= m.to.part(mesh)) continue;
        int senders = 0;
        for (int q = 0; q < mesh.size(); ++q) {
          index const from = m.of.from + t * m.of.from_step - m.from.begin(mesh, q);
          if ((between(mesh, r, q) & ~m.along) != 0 || from < 0 || from >= m.from.part(mesh)) continue;
          ++senders;
          auto const p = m.part(mesh, r, q);
          CHECK(t >= p.first);
          CHECK(t < p.first + p.count);
          if (q != r) ++n[{r, q}];
        }
        CHECK(senders == 1);
      }
  return n;
}

void check(mesh_shape const& mesh, two_movements const& all) {
  auto const messages = crossing(mesh, all);
  std::vector<exchange> ranks;
  for (int r = 0; r < mesh.size(); ++r) ranks.emplace_back(mesh, all, r);
  std::map<std::pair<int, int>, index> sent;
  for (int r = 0; r < mesh.size(); ++r) {
    auto const& e = ranks[static_cast<std::size_t>(r)];
    REQUIRE(e.permutes.size() == ranks[0].permutes.size());
    REQUIRE(e.at_once() == ranks[0].at_once());
    CHECK(e.sent() == ranks[0].sent());
    for (std::size_t i = 0; i < e.permutes.size(); ++i) {
      auto const& p = e.permutes[i];
      CHECK(p.count == ranks[0].permutes[i].count);
      CHECK(p.axes == ranks[0].permutes[i].axes);
      if (p.to < 0) continue;
      CHECK((between(mesh, r, p.to) & ~p.axes) == 0);
      CHECK(ranks[static_cast<std::size_t>(p.to)].permutes[i].from == r);
      REQUIRE(messages.count({p.to, r}) == 1);
      CHECK(messages.at({p.to, r}) <= p.count);
      sent[{p.to, r}] += messages.at({p.to, r});
    }
    if (!e.at_once()) continue;
    for (int q = 0; q < mesh.size(); ++q) {
      if ((between(mesh, r, q) & ~e.axes) != 0) continue;
      auto const n = e.sends[static_cast<std::size_t>(mesh.index_within(q, e.axes))];
      CHECK(n == ranks[static_cast<std::size_t>(q)].receives[static_cast<std::size_t>(mesh.index_within(r, e.axes))]);
      CHECK(static_cast<index>(n) <= e.count);
      if (n > 0) sent[{q, r}] += static_cast<index>(n);
    }
  }
  CHECK(sent == messages);
}

TEST_CASE("every wanted position comes once, from a rank that has it") {
  for (auto const& mesh : {mesh_of({2}), mesh_of({4}), mesh_of({3}), mesh_of({2, 2}), mesh_of({2, 3, 2})}) {
    CAPTURE(mesh.size());
    std::vector<dim_split> ways{split_over(24, {}), split_over(24, {0})};
    if (mesh.ndim > 1) {
      ways.push_back(split_over(24, {1}));
      ways.push_back(split_over(24, {1, 0}));
      ways.push_back(split_over(24, {0, 1}));
    }
    for (auto const& from : ways)
      for (auto const& to : ways) {
        for (index by = 0; by < 24; ++by)
          check(mesh, {moved({24 - by, by, 0, 1, 1}, from, to), moved({by, 0, 24 - by, 1, 1}, from, to)});
        check(mesh, {moved({24, 0, 23, 1, -1}, from, to), {}});
        check(mesh, {moved({8, 1, 2, 2, 1}, from, to), {}});
        check(mesh, {moved({7, 3, 20, 3, -3}, from, to), {}});
        dim_split short_one = to, long_one = from;
        short_one.extent = 12;
        long_one.extent = 36;
        check(mesh, {moved({12, 0, 0, 1, 1}, short_one, long_one), moved({24, 12, 0, 1, 1}, from, long_one)});
      }
  }
}

TEST_CASE("what an exchange sends, in positions") {
  auto const mesh = mesh_of({8});
  auto const all = split_over(64, {0});
  auto const sent = [&](two_movements const& m) {
    return std::pair(exchange(mesh, m, 3).sent(), exchange(mesh, m, 3).collectives());
  };
  CHECK(sent({moved({63, 1, 0, 1, 1}, all, all), moved({1, 0, 63, 1, 1}, all, all)}) == std::pair(index{1}, 1));
  CHECK(sent({moved({56, 8, 0, 1, 1}, all, all), moved({8, 0, 56, 1, 1}, all, all)}) == std::pair(index{8}, 1));
  CHECK(sent({moved({53, 11, 0, 1, 1}, all, all), moved({11, 0, 53, 1, 1}, all, all)}) == std::pair(index{8}, 2));
  CHECK(sent({moved({64, 0, 63, 1, -1}, all, all), {}}) == std::pair(index{8}, 1));
  // Two of 32 as one of 64: a rank wants two parts, an all-gather would bring seven of each.
  auto const half = split_over(32, {0});
  CHECK(sent({moved({32, 0, 0, 1, 1}, half, all), moved({32, 32, 0, 1, 1}, half, all)}) == std::pair(index{8}, 2));
}

TEST_CASE("the way back") {
  stretch const turned{10, 2, 30, 1, -3};
  auto const back = turned.back();
  for (index t = 0; t < 10; ++t) {
    index const i = 9 - t;
    CHECK(back.to + t * back.to_step == turned.from + i * turned.from_step);
    CHECK(back.from + t * back.from_step == turned.to + i * turned.to_step);
  }
  CHECK(back.to_step == 3);
}

}  // namespace
