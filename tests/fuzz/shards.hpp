#pragma once
// Which elements a rank holds, and what it holds of drawn numbers, in plain loops that share nothing with the library.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mtf/core/sharding.hpp>

namespace fuzz {

/// The coordinate of a rank along an axis: the last axis is the fastest.
int coordinate(mtf::mesh_shape const&, int rank, int axis);
/// The global, row-major positions of the elements of a rank's shard, in its order; `pad` of pads.
inline constexpr std::size_t pad = ~std::size_t{0};
std::vector<std::size_t> positions(mtf::sharding const&, mtf::mesh_shape const&, int rank);

/// How numbers are drawn: see draw.hpp.
struct drawing {
  std::uint64_t salt = 0;
  double low = -1, high = 1;
  bool integers = false;
};
/// A rank's shard of drawn numbers: its terms, where the tensor is partial.
std::vector<double> share(drawing const&, mtf::sharding const&, mtf::mesh_shape const&, int rank);

}  // namespace fuzz
