#pragma once
// The collectives of a machine of one rank: copies.
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include <mtf/backend/collectives.hpp>
#include <mtf/core/element.hpp>
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
  static void copy(element type, void const* in, void* out, std::size_t count) {
    if (in != out) std::memcpy(out, in, count * static_cast<std::size_t>(bytes_of(type)));
  }
  void do_all_reduce(axis_mask, combine, element type, void const* in, void* out, std::size_t count) override {
    copy(type, in, out, count);
  }
  void do_reduce_scatter(axis_mask, element type, void const* in, void* out, std::size_t count) override {
    copy(type, in, out, count);
  }
  void do_all_gather(axis_mask, element type, void const* in, void* out, std::size_t count) override {
    copy(type, in, out, count);
  }
  void do_all_to_all(axis_mask, element type, void const* in, void* out, std::size_t count) override {
    copy(type, in, out, count);
  }
  void do_permute(axis_mask, element type, void const* in, void* out, std::size_t count, int, int) override {
    copy(type, in, out, count);
  }
  handle do_start_all_reduce(axis_mask, combine, element type, void const* in, void* out, std::size_t count) override {
    copy(type, in, out, count);
    return {};
  }
  handle do_start_reduce_scatter(axis_mask, element type, void const* in, void* out, std::size_t count) override {
    copy(type, in, out, count);
    return {};
  }
  handle do_start_all_gather(axis_mask, element type, void const* in, void* out, std::size_t count) override {
    copy(type, in, out, count);
    return {};
  }
};

}  // namespace mtf
