#pragma once
// The collectives of a machine of one rank: copies.
#include <stdexcept>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/copy_alone.hpp>
#include <mtf/core/mesh_shape.hpp>

namespace mtf {

/// For programs on one rank, without MPI. Pointers must be host pointers.
class single_rank final : public collectives {
 public:
  explicit single_rank(mesh_shape mesh = {}) : collectives(mesh, 0) {
    if (mesh.size() != 1) throw std::invalid_argument("mtf::single_rank: the mesh has more than one rank");
  }
  void barrier() override {}
  bool any(bool mine) override { return mine; }

 private:
  void do_communicate(collective const& c, void const* in, void* out) override { backend::copy_alone(c, in, out); }
};

}  // namespace mtf
