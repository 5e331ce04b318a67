#pragma once
// Whether the sum of a partial value is known already.
#include <mtf/core/mesh_shape.hpp>

namespace mtf::backend {

/// Goes with memory whose terms are partial over some axes: what is known of their sum, so that it is paid for once.
/// The sum of a gradient is asked for several times: by the norm of all gradients, by the optimizer, by the user. Of a
/// sum over `axes` a rank has the whole, or only its part along the axes of `split` (split_further). `Memory`: a handle
/// that is empty by default.
template <class Memory>
class known_sum {
 public:
  /// Is the sum over these axes known?
  [[nodiscard]] constexpr bool is_over(axis_mask axes) const { return axes != 0 && axes_ == axes; }
  /// The axes along which this rank has only a part of the sum; 0: it has the whole.
  [[nodiscard]] constexpr axis_mask split() const { return split_; }
  /// Where the sum is; `terms`: the memory that it goes with, where sums may be taken in place.
  [[nodiscard]] constexpr Memory const& memory(Memory const& terms) const {
    if (!sum_) return terms;
    return sum_;
  }

  /// The terms' memory holds their sum now.
  constexpr void is_in_place(axis_mask over) { is(over, {}); }
  /// The sum is in memory of its own.
  constexpr void is(axis_mask over, Memory const& sum, axis_mask split = 0) {
    axes_ = over;
    sum_ = sum;
    split_ = split;
  }
  /// Nothing is known: the terms change.
  constexpr void forget() {
    if (axes_ != 0) is(0, {});
  }

 private:
  axis_mask axes_ = 0, split_ = 0;
  Memory sum_{};  // empty: taken in place
};

}  // namespace mtf::backend
