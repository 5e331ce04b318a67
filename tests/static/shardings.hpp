#pragma once
// Shardings as values, by hand.
#include <cstdint>
#include <initializer_list>

#include <mtf/backend/work.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

namespace by_hand {

using mtf::sharding;

struct split_dim {
  std::uint64_t id;
  mtf::backend::index extent;
  std::initializer_list<int> axes = {};
};

constexpr sharding of(std::initializer_list<split_dim> dims, mtf::axis_mask partial = 0) {
  sharding s;
  for (auto const& d : dims) {
    mtf::dim_state state{d.id, d.extent, {}};
    for (int const a : d.axes) state.split.push(a);
    s.push(state);
  }
  s.partial = partial;
  return s;
}

constexpr mtf::mesh_shape mesh(std::initializer_list<int> extents, mtf::axis_mask node_axes = 0) {
  mtf::mesh_shape m{.node_axes = node_axes};
  for (int const e : extents) m.extent[static_cast<std::size_t>(m.ndim++)] = e;
  return m;
}

}  // namespace by_hand
