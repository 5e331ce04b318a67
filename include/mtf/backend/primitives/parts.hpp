#pragma once
// Parts of a dimension that begin where an index says: tensors are [outer, n, inner], parts [outer, part, inner]. Of
// the dimension the n positions from `offset` on are here. `start` is one number, or, where `each` is 1, one for each
// of `outer`; below start is that of o.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// out[o, p, i] = x[o, start + p - offset, i]; zeros where that position is not here, or, if `extent` is not 0, NaN
/// where it is outside of [0, extent).
template <class T>
struct take_part {
  static constexpr char const* name = "mtf::take_part";
  index outer, n, inner, part, offset, extent;
  T* out;
  T const* x;
  std::int32_t const* start;
  index each = 0;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(2 * outer * part * inner); }
};

/// x[o, start + p - offset, i] = part[o, p, i], zero if `part` is null, where that position is here.
template <class T>
struct put_part {
  static constexpr char const* name = "mtf::put_part";
  index outer, n, inner, part, offset;
  T* x;
  T const* from;
  std::int32_t const* start;
  index each = 0;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(2 * outer * part * inner); }
};

}  // namespace mtf::primitives
