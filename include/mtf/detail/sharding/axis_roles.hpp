#pragma once
// What each of a few mesh axes does in a sharding, as one number that can be compared and searched.
#include <cstdint>

namespace mtf::detail {

struct axis_roles {
  /// The roles of all changed axes, a byte for each: low half, its role; high half, if it splits a dimension, its
  /// position among the changed axes that split this dimension.
  using place = std::uint64_t;
  static constexpr unsigned idle = 0, summed = 1, splits = 2;  // replicated, partial; splits + d: splits dimension d
  static constexpr unsigned field(place p, int k) { return static_cast<unsigned>(p >> (8 * k)) & 0xffU; }
  static constexpr unsigned role(place p, int k) { return field(p, k) & 0xfU; }
  static constexpr unsigned position(place p, int k) { return field(p, k) >> 4U; }
  static constexpr place with(place p, int k, unsigned role, unsigned position = 0) {
    return (p & ~(place{0xff} << (8 * k))) | (place{role | position << 4U} << (8 * k));
  }
};

}  // namespace mtf::detail
