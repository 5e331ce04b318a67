#pragma once
// What comes before each rank's part of a dimension, of what each rank's part comes to.
#include <cstddef>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf::detail {

/// The parts into which axes split a dimension, in its order. (Ranks of a group are in the mesh's order, which is
/// another if an inner axis of the mesh is the outer one of the split.)
class parts_in_order {
 public:
  constexpr parts_in_order(mesh_shape const& mesh, axis_list const& split, int rank)
      : mesh_(mesh), split_(split), rank_(rank), count_(mesh.size(split.mask())) {
    for (int i = 0; i < split.size; ++i) mine_ = mine_ * mesh.extent[split[i]] + mesh.coordinate(rank, split[i]);
  }
  [[nodiscard]] constexpr int count() const { return count_; }
  [[nodiscard]] constexpr int mine() const { return mine_; }
  /// The rank, along these axes, that has a part; nobody, if there is no such part.
  [[nodiscard]] constexpr int rank_with(int part) const {
    if (part < 0 || part >= count_) return collective::nobody;
    int rank = rank_;
    for (int i = split_.size; i-- > 0; part /= mesh_.extent[split_[i]]) {
      int stride = 1;
      for (int a = split_[i] + 1; a < mesh_.ndim; ++a) stride *= mesh_.extent[a];
      rank += (part % mesh_.extent[split_[i]] - mesh_.coordinate(rank_, split_[i])) * stride;
    }
    return rank;
  }

 private:
  mesh_shape const& mesh_;
  axis_list const& split_;
  int rank_, count_, mine_ = 0;
};

/// Whether these axes split a dimension in the order of their groups' ranks.
constexpr bool in_order_of_ranks(axis_list const& split) {
  for (int i = 1; i < split.size; ++i)
    if (split[i] < split[i - 1]) return false;
  return true;
}

/// What the parts before the rank's come to; `totals` (n elements, used up) is what its own comes to, `carry` is given
/// as what nothing comes to. `join(x, earlier)` runs x = earlier, then x. By doubling: in each round all that is known
/// goes twice as far as before, so log2 of the ranks rounded up permutes, and never more than an all-gather sends.
/// `reverse`: before is behind.
template <class A>
constexpr void carry_by_doubling(auto& pass, axis_list const& split, bool reverse, index n, A* totals, A* carry,
                                 auto const& join) {
  parts_in_order const parts(pass.mesh(), split, pass.rank());
  auto memory = make_buffer<A>(pass.backend, n);
  A* const earlier = data_of<A>(memory);
  for (int by = 1; by < parts.count(); by *= 2) {
    int const step = reverse ? -by : by, from = parts.rank_with(parts.mine() - step);
    pass.backend.communicate(collective::permute(split.mask(), element_of<A>, static_cast<std::size_t>(n),
                                                 parts.rank_with(parts.mine() + step), from),
                             totals, earlier);
    if (from == collective::nobody) continue;
    join(carry, earlier);
    if (2 * by < parts.count()) join(totals, earlier);
  }
}

}  // namespace mtf::detail
