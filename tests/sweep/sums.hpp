#pragma once
// What taking a sum sends: of this all closed forms are made.
#include <cstdint>
#include <vector>

#include "oracle.hpp"

namespace sweep::forms {

inline std::uint64_t payload(mesh_code const& m, place const& p) {
  return shard_size(m, p) * static_cast<std::uint64_t>(p.bytes);
}

/// What taking a sum over some axes sends: an all-reduce; where some of them run inside a node and others do not, only
/// a part of it goes between nodes.
inline void take_sum(std::vector<event>& when, mesh_code const& m, set axes, place const& p) {
  if (axes == 0) return;
  auto const all = payload(m, p), elements = shard_size(m, p);
  set const inside = axes & m.inside_node;
  auto const parts = static_cast<std::uint64_t>(m.along(inside));
  if (inside == 0 || inside == axes || elements % parts != 0) {
    when.push_back({collective_kind::all_reduce, axes, all});
    return;
  }
  when.push_back({collective_kind::reduce_scatter, inside, all});
  when.push_back({collective_kind::all_reduce, axes & ~inside, all / parts});
  when.push_back({collective_kind::all_gather, inside, all / parts});
}

}  // namespace sweep::forms
