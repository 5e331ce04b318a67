#pragma once
// All meshes of some ranks, and what an axis of them can split.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mtf/backend/growing_array.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/plan/outline.hpp>

namespace mtf::detail {

/// What each axis of a mesh splits under one layout.
using axis_choices = std::array<dim_mask, max_axes>;
/// Under each layout of a program.
using all_choices = std::array<axis_choices, max_layouts>;

/// Meshes of up to `most` axes, each of more than one rank, in every order. Where the order of axes changes no price
/// (`ordered` is false) their extents do not ascend.
constexpr void meshes_of(int ranks, int most, bool ordered, mesh_shape so_far, std::vector<mesh_shape>& all) {
  if (ranks == 1) {
    all.push_back(so_far);
    return;
  }
  if (so_far.ndim == most) return;
  int const before = so_far.ndim == 0 ? ranks : so_far.extent[static_cast<std::size_t>(so_far.ndim) - 1];
  for (int n = 2; n <= ranks; ++n)
    if (ranks % n == 0 && (ordered || n <= before)) {
      auto next = so_far;
      next.extent[static_cast<std::size_t>(next.ndim++)] = n;
      meshes_of(ranks / n, most, ordered, next, all);
    }
}

/// The sets of dimensions that one axis may split together: no two of one tensor, nor of tensors that an operation
/// takes together, since each rank would hold only blocks on the diagonal. `may`: the dimensions that may be split.
constexpr void sets_apart(backend::growing_array<program_outline::dimension_of> const& dims, std::size_t layout,
                          dim_mask may, dim_mask chosen, std::size_t from, backend::growing_array<dim_mask>& all) {
  if (from == dims.size()) {
    all.push_back(chosen);
    return;
  }
  dim_mask const bit = dim_mask{1} << from;
  sets_apart(dims, layout, may, chosen, from + 1, all);
  if ((may & bit) != 0 && dims[from].there[layout] && (dims[from].beside[layout] & chosen) == 0)
    sets_apart(dims, layout, may, chosen | bit, from + 1, all);
}

/// Whether the axes divide the extents of the dimensions that they split.
constexpr bool divides(backend::growing_array<program_outline::dimension_of> const& dims, mesh_shape const& mesh,
                       axis_choices const& choices) {
  dim_mask any = 0;
  for (auto const c : choices) any |= c;
  unsigned d = 0;
  for (auto const& dim : dims) {
    if (((any >> d) & 1U) != 0) {
      std::int64_t parts = 1;
      for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.ndim); ++a)
        parts *= ((choices[a] >> d) & 1U) != 0 ? mesh.extent[a] : 1;
      if (dim.extent % parts != 0) return false;
    }
    ++d;
  }
  return true;
}

/// The layout that splits dimensions so: where several axes split one, in the order of the mesh.
constexpr layout_value layout_with(backend::growing_array<program_outline::dimension_of> const& dims,
                                   mesh_value const& mesh, axis_choices const& choices) {
  layout_value l{.mesh = mesh};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    axis_list axes;
    for (int a = 0; a < mesh.shape.ndim; ++a)
      if (((choices[static_cast<std::size_t>(a)] >> d) & 1U) != 0) axes.push(a);
    if (axes.size > 0 || dims[d].is_alias) l.split(dims[d].name, axes);
  }
  return l;
}

/// "a:2;b:4", for meshes that the search makes.
constexpr mesh_value named_mesh(mesh_shape const& shape) {
  constexpr std::array<char const*, max_axes> names{"a", "b", "c", "d", "e", "f"};
  mesh_value m{.shape = shape};
  for (std::size_t a = 0; a < static_cast<std::size_t>(shape.ndim); ++a) m.names[a] = short_name(names[a]);
  return m;
}

}  // namespace mtf::detail
