#pragma once
// One dimension as two, or two as one, row-major: how a split of the one is a split of the two, and what a change
// between other splits sends.
#include <cstdint>
#include <optional>

#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/steps.hpp>

namespace mtf::detail {

/// The splits of two dimensions.
struct two_splits {
  axis_list outer, inner;
};

/// Where a dimension of outer x inner positions is split over `whole`: splits of the two under which each rank has the
/// same elements in the same order. The axes split the outer one until a rank has one position of it, then the inner
/// one. None where an axis would have to split both: its ranks would begin within a row of inner positions.
constexpr std::optional<two_splits> as_two_splits(mesh_shape const& mesh, axis_list const& whole, std::int64_t outer,
                                                  std::int64_t inner) {
  two_splits two;
  for (int i = 0; i < whole.size; ++i) {
    int const ranks = mesh.extent[whole[i]];
    bool const has_rows = outer > 1;
    auto& left = has_rows ? outer : inner;
    if (left % ranks != 0) return std::nullopt;
    left /= ranks;
    (has_rows ? two.outer : two.inner).push(whole[i]);
  }
  return two;
}

/// First what is sent while the tensor has its old dimensions, then, under the new ones, the rest.
struct regrouping {
  steps before, after;

  [[nodiscard]] constexpr bool changes_nothing() const { return before.size == 0 && after.size == 0; }
  [[nodiscard]] constexpr std::uint64_t elements_sent(mesh_shape const& mesh) const {
    return bytes_of(before, mesh, 1) + bytes_of(after, mesh, 1);
  }
};

/// From `from` to `to`: dimension d of one of them is the same as d and d + 1 of the other, `to` where `splits`. In
/// between the elements lie so that the change is one of names: of all prefixes of both splits that can be had, the one
/// by which least is sent.
constexpr regrouping derive_regrouping(mesh_shape const& mesh, sharding const& from, sharding const& to, int d,
                                       bool splits) {
  sharding const &one = splits ? from : to, &two = splits ? to : from;
  axis_list of_two = two[d].split;
  for (int i = 0; i < two[d + 1].split.size; ++i) of_two.push(two[d + 1].split[i]);

  regrouping least;
  bool found = false;
  auto const meet = [&](axis_list const& whole) {
    auto const parts = as_two_splits(mesh, whole, two[d].extent, two[d + 1].extent);
    if (!parts) return;
    sharding as_one = one, as_two = two;
    as_one[d].split = whole;
    as_two[d].split = parts->outer;
    as_two[d + 1].split = parts->inner;
    as_one.partial = as_two.partial = from.partial & ~as_one.split_axes();
    regrouping const way{.before = derive_relayout(mesh, from, splits ? as_one : as_two),
                         .after = derive_relayout(mesh, splits ? as_two : as_one, to)};
    if (!found || way.elements_sent(mesh) < least.elements_sent(mesh)) least = way;
    found = true;
  };
  for (axis_list const& longest : {one[d].split, of_two})
    for (auto whole = longest;; whole.pop()) {
      meet(whole);
      if (least.changes_nothing() && found) return least;
      if (whole.size == 0) break;
    }
  return least;
}

}  // namespace mtf::detail
