#pragma once
// The largest numbers of rows, and where they are. NaN come first, 0 before -0; of equal ones the first in its row.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// Of each row (o, i) of x, [blocks, outer, n, inner], whose blocks are one row, the k largest, in descending order,
/// and their positions: both [outer, k, inner]. `ids`: the positions, of x's shape;
/// null: they are counted from `offset`. `smallest`: those in ascending order, NaN first, -0 before 0.
template <class T>
struct top_of_rows {
  static constexpr char const* name = "mtf::top_of_rows";
  index blocks, outer, n, inner, k, offset;
  T* out;
  std::int32_t* out_ids;
  T const* x;
  std::int32_t const* ids;
  bool smallest = false;

  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<T>(outer * inner * (blocks * n + k)) + bytes_moved<std::int32_t>(outer * inner * k);
  }
};

/// dx[o, j, i], [outer, n, inner] = dy[o, c, i] where ids[o, c, i] - offset is j; else 0.
template <class T>
struct top_of_rows_vjp {
  static constexpr char const* name = "mtf::top_of_rows_vjp";
  index outer, n, inner, k, offset;
  T* dx;
  T const* dy;
  std::int32_t const* ids;

  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<T>(outer * inner * (n + k)) + bytes_moved<std::int32_t>(outer * inner * k);
  }
};

}  // namespace mtf::primitives
