// The parts of a dimension in its order, whatever the order of the axes that split it; and rows that are made whole.
#include <initializer_list>

#include <mtf/detail/ops/carry.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/ops/sorting/sort.hpp>

namespace {

using namespace mtf::detail;

constexpr mtf::mesh_shape mesh{3, {2, 3, 2}};
constexpr mtf::axis_list split_by(std::initializer_list<int> axes) {
  mtf::axis_list all;
  for (int const a : axes) all.push(a);
  return all;
}

/// Each rank has its own part, which is where its shard begins; of each part one rank of its group knows the other.
constexpr bool is_a_permutation(mtf::axis_list const& split) {
  mtf::sharding s;
  s.push({.id = 1, .extent = 24, .split = split, .name = "d"});
  for (int rank = 0; rank < mesh.size(); ++rank) {
    parts_in_order const parts(mesh, split, rank);
    if (parts.count() != mesh.size(split.mask()) || parts.rank_with(parts.mine()) != rank) return false;
    if (shard_offset(s, 0, mesh, rank) != parts.mine() * s.local_extent(0, mesh)) return false;
    for (int part = 0; part < parts.count(); ++part) {
      int const other = parts.rank_with(part);
      if (parts_in_order(mesh, split, other).mine() != part) return false;
      if (mesh.group_of(other, split.mask()) != mesh.group_of(rank, split.mask())) return false;
    }
    if (parts.rank_with(-1) != mtf::collective::nobody || parts.rank_with(parts.count()) != mtf::collective::nobody)
      return false;
  }
  return true;
}
static_assert(is_a_permutation(split_by({})) && is_a_permutation(split_by({1})) && is_a_permutation(split_by({0, 2})));
static_assert(is_a_permutation(split_by({2, 0})) && is_a_permutation(split_by({1, 2, 0})));
static_assert(in_order_of_ranks(split_by({0, 2})) && !in_order_of_ranks(split_by({2, 0})));

/// Each axis goes to the first other dimension that it divides; 3 divides none, and splits nothing.
constexpr bool becomes_whole() {
  mtf::sharding s;
  s.push({.id = 1, .extent = 2, .split = {}, .name = "two"});
  s.push({.id = 2, .extent = 24, .split = split_by({2, 1, 0}), .name = "rows"});
  s.push({.id = 3, .extent = 4, .split = {}, .name = "four"});
  auto const whole = with_whole_rows(mesh, s, 1);
  return whole[0].split == split_by({2}) && whole[1].split == split_by({}) && whole[2].split == split_by({0});
}
static_assert(becomes_whole());

}  // namespace
