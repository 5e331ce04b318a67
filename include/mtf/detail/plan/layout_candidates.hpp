#pragma once
// The layouts among which one is searched, each with a lower bound of its price.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/growing_array.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/plan/layout_bounds.hpp>
#include <mtf/detail/plan/layout_space.hpp>
#include <mtf/detail/plan/outline.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/searched_layouts.hpp>

namespace mtf::detail {

/// All layouts on all meshes, and those of them that are still to be looked at.
class layout_candidates {
 public:
  constexpr layout_candidates(program_outline const& outline, machine_description const& machine,
                              machine_description const& best, layouts_to_search const& among, bool splits_state)
      : outline_(&outline),
        machine_(&machine),
        best_(&best),
        among_(&among),
        splits_state_(splits_state),
        memory_(std::min(among.memory, machine.memory)) {
    for (std::size_t l = 0; l < outline.layouts; ++l)
      for (std::size_t d = 0; d < outline.dims.size(); ++d)
        there_[l] |= outline.dims[d].there[l] ? dim_mask{1} << d : 0;
  }

 protected:
  constexpr void list() {
    check();
    list_meshes();
    for (std::size_t l = 0; l < among_->layouts; ++l) list_sets(l);
    for (std::size_t m = 0; m < meshes_.size(); ++m) {
      std::uint64_t count = 1;
      for (std::size_t l = 0; l < (among_->alike ? 1 : among_->layouts); ++l) {
        list_layouts(m, l);
        count *= meshes_[m].layouts[l].size();
      }
      result_.layouts += count;
    }
  }
  /// One layout on a mesh. `least`: no more than what it adds to the price of any that it is part of.
  struct part {
    double least = 0;
    axis_choices choices{};
  };
  /// One for each layout of the program.
  struct candidate {
    double bound = 0;
    std::uint16_t mesh = 0;
    axis_mask refined = 0;  // the bound knows of the collectives, other than gradients', along these axes
    bool alike = false;     // all layouts are as the first
    std::array<std::uint32_t, max_layouts> part{};
  };
  struct mesh_of_search {
    mesh_value mesh;
    layout_bounds bounds;
    std::array<axis_choices, max_layouts> pinned{};
    std::array<backend::growing_array<part>, max_layouts> layouts{};
  };

  constexpr void check() const {
    auto const& a = *among_;
    if (a.ranks < 1 || a.most_axes < 1 || a.most_axes > max_axes || a.wanted < 1 || a.layouts < 1 ||
        a.layouts > max_layouts)
      throw user_error("a search takes 1 or more ranks, up to 6 axes, up to 8 layouts, and wants at least one");
    if (!a.pinned.empty() && !a.mesh) throw user_error("pinned rules name axes: give the search their mesh");
    if (a.pinned.size() > (a.alike ? 1 : a.layouts))
      throw user_error("there are more pinned layouts than are searched");
    for (auto const& name : a.whole) require_dim(hash_of(name), name);
    for (auto const& l : a.pinned)
      for (int i = 0; i < l.size; ++i) {
        auto const& rule = l.rules[static_cast<std::size_t>(i)];
        require_dim(rule.dim, rule.name.view());
      }
  }
  constexpr void require_dim(std::uint64_t id, std::string_view name) const {
    if (mask_of(id) != 0) return;
    std::string known;
    for (auto const& d : outline_->dims) known += (known.empty() ? "" : ", ") + std::string(d.name);
    throw user_error("no tensor of the program has the dimension " + std::string(name) + "; it has " + known);
  }
  [[nodiscard]] constexpr dim_mask mask_of(std::uint64_t id) const {
    for (std::size_t d = 0; d < outline_->dims.size(); ++d)
      if (outline_->dims[d].id == id) return dim_mask{1} << d;
    return 0;
  }

  [[nodiscard]] constexpr double bound_of(layout_bounds::parts const& p, bool all) const {
    constexpr double margin = 1 - 1e-9;  // for rounding: a plan's sums are taken in another order
    // Gradients that are reduced later are not started in the backward pass: nothing hides.
    double const overlap = among_->completed == completed_gradients::later ? 0 : machine_->overlap;
    return margin * (among_->of == least::seconds  ? all ? p.seconds(overlap) : p.seconds_added(overlap)
                      : among_->of == least::memory ? p.memory
                                                   : p.bytes_sent);
  }
  [[nodiscard]] constexpr bool is_pointless(double bound) const {
    auto const& best = result_.best;
    return best.size() >= among_->wanted && bound >= best.back().of(among_->of);
  }

  // The space --------------------------------------------------------------------------------------------------------

  constexpr void list_meshes() {
    std::vector<mesh_shape> shapes;
    if (among_->mesh) {
      meshes_.push_back({*among_->mesh, layout_bounds(*outline_, *best_, among_->mesh->shape)});
    } else {
      ordered_ = among_->ranks > machine_->ranks_per_node && machine_->ranks_per_node > 1;
      meshes_of(among_->ranks, among_->most_axes, ordered_, {}, shapes);
      for (auto const& s : shapes) meshes_.push_back({named_mesh(s), layout_bounds(*outline_, *best_, s)});
    }
    result_.meshes = meshes_.size();
  }
  constexpr void list_sets(std::size_t layout) {
    dim_mask may = ~dim_mask{0};
    for (auto const& name : among_->whole) may &= ~mask_of(hash_of(name));
    if (layout < among_->pinned.size())
      for (int i = 0; i < among_->pinned[layout].size; ++i) {
        auto const& rule = among_->pinned[layout].rules[static_cast<std::size_t>(i)];
        may &= ~mask_of(rule.dim);
        for (int a = 0; a < rule.axes.size; ++a)
          meshes_.front().pinned[layout][static_cast<std::size_t>(rule.axes[a])] |= mask_of(rule.dim);
      }
    sets_apart(outline_->dims, layout, may, 0, 0, sets_[layout]);
  }
  constexpr void list_layouts(std::size_t mesh, std::size_t layout) {
    all_choices choices{};
    choices[layout] = meshes_[mesh].pinned[layout];
    list_from(0, mesh, layout, choices);
    auto& all = meshes_[mesh].layouts[layout];
    if (among_->layouts > 1)
      std::sort(all.begin(), all.end(), [](part const& a, part const& b) { return a.least < b.least; });
  }
  constexpr void list_from(std::size_t axis, std::size_t mesh, std::size_t layout, all_choices& choices) {
    auto& on = meshes_[mesh];
    auto& here = choices[layout];
    if (on.layouts[layout].size() > most_) return;
    if (axis == static_cast<std::size_t>(on.mesh.shape.ndim)) {
      double least = 0;  // asked of parts alone
      if (among_->layouts > 1) least = bound_of(on.bounds.of(static_cast<int>(layout), choices), false);
      on.layouts[layout].push_back(part{least, here});
      return;
    }
    dim_mask const pinned = on.pinned[layout][axis];
    for (auto const set : sets_[layout]) {
      if (!apart(pinned, set, layout)) continue;
      here[axis] = pinned | set;
      if (divides(outline_->dims, on.mesh.shape, here)) list_from(axis + 1, mesh, layout, choices);
    }
    here[axis] = pinned;
  }
  [[nodiscard]] constexpr bool apart(dim_mask pinned, dim_mask set, std::size_t layout) const {
    for (std::size_t d = 0; d < outline_->dims.size(); ++d)
      if (((pinned >> d) & 1U) != 0 && (outline_->dims[d].beside[layout] & set) != 0) return false;
    return true;
  }

  [[nodiscard]] constexpr all_choices choices_of(candidate const& c) const {
    all_choices choices{};
    for (std::size_t l = 0; l < among_->layouts; ++l)
      choices[l] = c.alike ? like(meshes_[c.mesh].layouts[0][c.part[0]].choices, l)
                           : meshes_[c.mesh].layouts[l][c.part[l]].choices;
    return choices;
  }
  /// The same choices under another layout, as far as the dimensions are there.
  [[nodiscard]] constexpr axis_choices like(axis_choices choices, std::size_t layout) const {
    for (auto& c : choices) c &= there_[layout];
    return choices;
  }
  /// Two axes that lie side by side and split the same dimensions are one axis, and the mesh on which they are one is
  /// searched too. Where the order of axes changes no price all lie side by side, and axes of one extent may be
  /// exchanged: the first then has the larger set.
  [[nodiscard]] constexpr bool is_there_otherwise(mesh_shape const& mesh, all_choices const& choices) const {
    if (among_->mesh) return false;
    for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.ndim); ++a)
      for (std::size_t b = a + 1; b < static_cast<std::size_t>(mesh.ndim); ++b) {
        std::size_t l = 0;  // the first layout under which the two differ
        while (l < among_->layouts && choices[l][a] == choices[l][b]) ++l;
        if (l == among_->layouts && (b == a + 1 || !ordered_)) return true;
        if (l < among_->layouts && !ordered_ && mesh.extent[a] == mesh.extent[b] && choices[l][a] < choices[l][b])
          return true;
      }
    return false;
  }
  constexpr void open(candidate& c) {
    auto const& on = meshes_[c.mesh];
    auto const choices = choices_of(c);
    if (is_there_otherwise(on.mesh.shape, choices)) {
      ++result_.elsewhere;
      return;
    }
    auto const p = on.bounds.of(program_outline::any, choices);
    c.bound = bound_of(p, true);
    if (p.memory > static_cast<double>(memory_))
      ++result_.parameters_too_large;
    else if (!is_pointless(c.bound))
      open_.push_back(c);
  }
  /// All layouts of the program the same, as far as they have the same dimensions.
  constexpr void list_equal_ones() {
    if (among_->pinned.size() > 1) return;
    for (std::size_t m = 0; m < meshes_.size(); ++m) {
      candidate c{.mesh = static_cast<std::uint16_t>(m), .alike = true};
      for (std::size_t i = 0; i < meshes_[m].layouts[0].size(); ++i) {
        c.part[0] = static_cast<std::uint32_t>(i);
        open(c);
      }
    }
  }
  /// All others. What the parts add at the least is known, so those that come to more than the best are not looked at.
  constexpr void list_different_ones() {
    for (std::size_t m = 0; m < meshes_.size(); ++m) {
      candidate c{.mesh = static_cast<std::uint16_t>(m)};
      list_parts(0, 0, c);
    }
  }
  constexpr void list_parts(std::size_t layout, double so_far, candidate& c) {
    auto const& on = meshes_[c.mesh];
    if (layout == among_->layouts) {
      bool equal = among_->pinned.size() < 2;  // those were looked at
      auto const choices = choices_of(c);
      for (std::size_t l = 1; l < layout; ++l) equal = equal && choices[l] == like(choices[0], l);
      if (!equal) open(c);
      return;
    }
    auto const& all = on.layouts[layout];
    for (std::size_t i = 0; i < all.size() && !is_pointless(so_far + all[i].least); ++i) {
      c.part[layout] = static_cast<std::uint32_t>(i);
      list_parts(layout + 1, so_far + all[i].least, c);
    }
  }

  program_outline const* outline_;
  machine_description const *machine_, *best_;
  layouts_to_search const* among_;
  bool splits_state_;
  std::uint64_t memory_;
  std::size_t most_ = ~std::size_t{0};  // layouts on a mesh are listed
  bool ordered_ = true;                 // the order of a mesh's axes matters
  std::vector<mesh_of_search> meshes_;
  std::array<backend::growing_array<dim_mask>, max_layouts> sets_{};  // that one axis may split
  std::array<dim_mask, max_layouts> there_{};                         // dimensions of tensors under each layout
  backend::growing_array<candidate> open_;
  searched_layouts result_;
};

}  // namespace mtf::detail
