// A shard that is split further: its parts are every element once, as many as there are ranks, whenever these divide
// it; and messages are packed and unpacked as the parts lie. devices: none compilers: first
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/message.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <support/relayout_laws.hpp>

namespace {

using mtf::axis_mask;
using mtf::mesh_shape;
using mtf::sharding;
using mtf::backend::index;
using namespace mtf::detail;

mesh_shape mesh_of(std::initializer_list<int> extents) {
  mesh_shape m;
  for (int const e : extents) m.extent[m.ndim++] = e;
  return m;
}
sharding tensor_of(std::initializer_list<int> extents) {
  sharding s;
  for (int const e : extents)
    s.push({.id = static_cast<std::uint64_t>(s.ndim) + 1, .extent = e, .split = {}, .name = "d"});
  return s;
}

/// The global elements of a rank's shard, in the order of its memory.
std::vector<index> elements_of(sharding const& s, mesh_shape const& mesh, int rank) {
  auto const p = placement_of(s, mesh, rank);
  std::vector<index> all(static_cast<std::size_t>(s.local_size(mesh)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto rest = static_cast<index>(i), at = p.offset;
    for (int d = p.local.ndim - 1; d >= 0; --d) {
      auto const e = static_cast<std::size_t>(d);
      at += rest % p.local.extent[e] * p.local.stride[0][e];
      rest /= p.local.extent[e];
    }
    all[i] = at;
  }
  return all;
}
std::vector<index> copied(loops<2> const& copy, std::vector<index> const& from, index offset = 0) {
  std::vector<index> to(static_cast<std::size_t>(copy.size()));
  for (index i = 0; i < copy.size(); ++i) {
    index rest = i, at = 0, there = offset;
    for (int d = copy.ndim - 1; d >= 0; --d) {
      auto const e = static_cast<std::size_t>(d);
      at += rest % copy.extent[e] * copy.stride[0][e];
      there += rest % copy.extent[e] * copy.stride[1][e];
      rest /= copy.extent[e];
    }
    to[static_cast<std::size_t>(at)] = from[static_cast<std::size_t>(there)];
  }
  return to;
}

int shared = 0, split = 0;

/// A tensor of which the first dimension may be split by the first axis is split further over `axes`.
void check(mesh_shape const& mesh, sharding const& s, axis_mask axes) {
  auto const f = split_further_where_it_divides(s, axes, mesh);
  index const size = s.local_size(mesh), parts = mesh.size(axes);
  CHECK((!f.whole || size % parts != 0 || s.ndim > 3));  // of four dimensions not all can be packed
  if (f.whole) return;
  CHECK(f.out.local_size(mesh) == size / parts);
  CHECK(f.out.split_axes() == (s.split_axes() | axes));
  ++split;
  shared += shared_axes(f.out) != 0 ? 1 : 0;

  sharding const block = block_of(s, f.out);
  loops<2> const pack = block_copy(mesh, axes, s, block, true), unpack = block_copy(mesh, axes, s, block, false);
  for (int rank = 0; rank < mesh.size(); ++rank) {
    auto const mine = elements_of(s, mesh, rank);
    // All parts of the group, in its order: the message of a reduce-scatter, what an all-gather receives.
    std::vector<index> message;
    for (int other = 0; other < mesh.size(); ++other)
      if (mesh.group_of(other, axes) == mesh.group_of(rank, axes)) {
        auto const part = elements_of(f.out, mesh, other);
        message.insert(message.end(), part.begin(), part.end());
      }
    CHECK(copied(pack, mine) == message);
    CHECK(copied(unpack, message) == mine);
    auto once = message;
    std::sort(once.begin(), once.end());
    auto all = mine;
    std::sort(all.begin(), all.end());
    CHECK(once == all);
    // A slice.
    CHECK(copied(block_copy(mesh, 0, s, block, true), mine, pack_offset(mesh, 0, s, block, rank)) ==
          elements_of(f.out, mesh, rank));
  }

  auto const kinds = [](steps const& all) {
    std::vector<step_kind> k;
    for (int i = 0; i < all.size; ++i) k.push_back(all[i].kind);
    return k;
  };
  if (shared_axes(f.out) == 0) return;
  using enum step_kind;
  CHECK(kinds(derive_relayout(mesh, s, f.out)) == std::vector{slice});
  CHECK(kinds(derive_relayout(mesh, f.out, s)) == std::vector{all_gather});
  CHECK(kinds(derive_relayout(mesh, f.out, f.out)).empty());
  CHECK(kinds(derive_completion(mesh, s, axes, axes)) == std::vector{reduce_scatter});
  auto const idle = ~(f.out.split_axes()) & ((axis_mask{1} << static_cast<unsigned>(mesh.ndim)) - 1);
  if (idle != 0) {
    auto const both = kinds(derive_completion(mesh, s, axes | idle, axes));
    CHECK(both == std::vector{reduce_scatter, all_reduce});
    CHECK(kinds(derive_completion(mesh, s, idle, axes)) == std::vector{all_reduce, slice});
  }
}

}  // namespace

TEST_CASE("parts of a shard are every element once, and messages lie as they do") {
  for (auto const& mesh : {mesh_of({4}), mesh_of({8}), mesh_of({12}), mesh_of({2, 4}), mesh_of({4, 2}), mesh_of({6, 4}),
                           mesh_of({3, 4}), mesh_of({2, 4, 2}), mesh_of({2, 2, 4})})
    for (auto const& whole : {tensor_of({6, 10}), tensor_of({2, 6}), tensor_of({6, 2, 10}), tensor_of({3, 6, 10}),
                              tensor_of({6, 5, 2}), tensor_of({2, 2, 2}), tensor_of({4, 6, 2}), tensor_of({12, 10, 6}),
                              tensor_of({5, 7}), tensor_of({16}), tensor_of({2, 6, 10, 2}), tensor_of({1, 12, 1, 6})})
      for (bool const first_is_split : {false, true}) {
        auto s = whole;
        if (first_is_split) {
          if (s[0].extent % mesh.extent[0] != 0) continue;
          s[0].split.push(0);
        }
        for (axis_mask axes = 1; axes < axis_mask{1} << static_cast<unsigned>(mesh.ndim); ++axes) {
          if ((axes & s.split_axes()) != 0) continue;
          CAPTURE(mesh.ndim);
          CAPTURE(mesh.extent[0]);
          CAPTURE(mesh.extent[1]);
          CAPTURE(whole.global_size());
          CAPTURE(whole.ndim);
          CAPTURE(axes);
          check(mesh, s, axes);
        }
      }
  MESSAGE(split << " shards are split further, of " << shared << " an axis splits several dimensions");
  CHECK(shared > 20);
}

TEST_CASE("relayouts lead from such parts to every way to lie, and back") {
  int pairs = 0;
  for (auto const& mesh : {mesh_of({2, 4}), mesh_of({4, 2}), mesh_of({2, 4, 2})}) {
    auto const ways = laws::all_ways<512>(mesh, tensor_of({6, 10}));
    axis_mask const four = mesh.extent[0] == 4 ? 1 : 2;  // the axis of four ranks
    for (int i = 0; i < ways.size; ++i) {
      auto const& s = ways.at[i];
      if (((s.split_axes() | s.partial) & four) != 0) continue;
      auto const f = split_further_where_it_divides(s, four, mesh);
      if (f.whole || shared_axes(f.out) == 0) continue;
      for (int k = 0; k < ways.size; ++k) {
        CAPTURE(mesh.extent[0]);
        CAPTURE(i);
        CAPTURE(k);
        if (laws::is_relayout(f.out, ways.at[k])) CHECK(laws::brings<60, 16>(mesh, f.out, ways.at[k]));
        if (laws::is_relayout(ways.at[k], f.out)) CHECK(laws::brings<60, 16>(mesh, ways.at[k], f.out));
        ++pairs;
      }
    }
  }
  CHECK(pairs > 100);
}
