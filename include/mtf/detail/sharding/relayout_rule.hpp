#pragma once
// What bringing a tensor from one sharding to another sends, also an optimizer's state, of which an axis may split
// several dimensions.
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/relayout_derivation.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/sharding/steps.hpp>

namespace mtf::detail {

/// Each dimension of b is split as in a, or further inside.
constexpr bool is_split_further(sharding const& a, sharding const& b) {
  for (int d = 0; d < a.ndim; ++d)
    if (!a[d].split.prefix_of(b[d].split)) return false;
  return true;
}

/// The same where an axis splits several dimensions, before or after: an all-gather brings what is split so together,
/// and a slice, or of a sum a reduce-scatter, splits it.
class relayout_of_shared_axes {
 public:
  constexpr relayout_of_shared_axes(mesh_shape const& mesh, sharding const& from) : mesh_(mesh), now_(from) {
    out_.from = from;
  }
  constexpr steps derive(sharding const& to) {
    if (!is_split_further(now_, to)) {
      auto whole = is_split_further(to, now_) ? to : without_shared_axes(now_);
      whole.partial = now_.partial;
      if (axis_mask const split = now_.split_axes() & ~whole.split_axes(); split != 0)
        push(step_kind::all_gather, split, whole);
    }
    auto whole = is_split_further(now_, to) ? now_ : without_shared_axes(to);
    axis_mask const further = to.split_axes() & ~whole.split_axes();
    if (further != 0 && (further & ~now_.partial) == 0 && whole == now_) {
      auto scattered = to;
      scattered.partial = now_.partial & ~further;
      push(step_kind::reduce_scatter, further, scattered);
    } else if (further != 0) {
      whole.partial = to.partial;
      append(whole);
      push(step_kind::slice, further, to);
    }
    append(to);
    return out_;
  }

 private:
  constexpr void push(step_kind kind, axis_mask axes, sharding const& after) {
    out_.push({kind, axes, 0, mesh_.size(axes), now_.local_size(mesh_), after.local_size(mesh_), after});
    now_ = after;
  }
  constexpr void append(sharding const& to) {
    steps const more = relayout_derivation(mesh_, now_, to).derive();
    for (int i = 0; i < more.size; ++i) out_.push(more[i]);
    now_ = to;
  }
  mesh_shape mesh_;
  sharding now_;
  steps out_;
};

constexpr steps derive_relayout(mesh_shape const& mesh, sharding const& from, sharding const& to) {
  if ((shared_axes(from) | shared_axes(to)) != 0) return relayout_of_shared_axes(mesh, from).derive(to);
  return relayout_derivation(mesh, from, to).derive();
}

/// Reducing over some axes. The splits stay, but for further ones (split_further).
constexpr steps derive_completion(mesh_shape const& mesh, sharding from, axis_mask axes, axis_mask split = 0) {
  from.partial |= axes;
  sharding to = split_further(from, split, mesh);
  to.partial &= ~axes;
  return derive_relayout(mesh, from, to);
}

}  // namespace mtf::detail
