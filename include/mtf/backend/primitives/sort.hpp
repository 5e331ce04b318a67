#pragma once
// Rows in order.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// The elements of each row of x in ascending order, NaN last, equal ones (0 and -0 are) as they stood, and their
/// positions in the row: in x's places. Either may be null.
template <class T>
struct sort_rows {
  static constexpr char const* name = "mtf::sort_rows";
  rows of;
  T* out;
  std::int32_t* ids;
  T const* x;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of) + bytes_moved<std::int32_t>(of); }
};

/// dx[o, ids[o, j, i], i] = dy[o, j, i].
template <class T>
struct sort_rows_vjp {
  static constexpr char const* name = "mtf::sort_rows_vjp";
  rows of;
  T* dx;
  T const* dy;
  std::int32_t const* ids;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(of) + bytes_moved<std::int32_t>(of); }
};

}  // namespace mtf::primitives
