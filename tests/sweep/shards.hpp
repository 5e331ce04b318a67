#pragma once
// Which elements a rank holds, in plain loops that share nothing with the library; and what follows from it: whether
// tensors can lie so, whether an operation can work on them.
#include "oracle.hpp"

namespace sweep {

/// The positions along a dimension that a rank holds, pads included.
struct interval {
  int first = 0, size = 0;
  bool operator==(interval const&) const = default;
};
interval held(mesh_code const& m, place const& p, int dim, int rank);

/// The global, row-major positions of the elements of a rank's shard, in its order; `pad` of pads.
inline constexpr std::size_t pad = ~std::size_t{0};
std::vector<std::size_t> positions(mesh_code const& m, place const& p, int rank);

/// Every axis list divides its dimension.
bool divides(mesh_code const& m, splits layout);

/// A tensor can lie so: every element is on some rank, and ranks whose terms make a sum hold the same elements.
bool can_lie(mesh_code const& m, place const& p);

/// An operation on these tensors can work shard by shard: every point of the space of their dimensions is met by some
/// rank, and at each rank the tensors hold the same part of each dimension they share.
bool can_meet(mesh_code const& m, std::vector<place> const& all);

/// The term of a value that a rank holds, of `terms` that add up to it: large and unequal, so that a sum over the wrong
/// ranks, or one term twice, cannot pass. Of a special value one rank has all and the others -0.0, which changes no
/// number that it is added to.
double term(double value, std::uint64_t salt, std::size_t position, int index, int terms, kind elements);

/// The index of a rank among those that differ from it along `axes` only.
int index_along(mesh_code const& m, int rank, set axes);
/// Whether two ranks differ along `axes` only.
bool same_but(mesh_code const& m, int rank, int other, set axes);

}  // namespace sweep
