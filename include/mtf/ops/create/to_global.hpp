#pragma once
// Tensors back on the host.
#include <vector>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/relayout.hpp>

namespace mtf {

/// All elements of the global tensor, row-major over its shape, on every rank: partial tensors are reduced, shards
/// gathered.
template <tensor_type X>
auto to_global(X const& x) {
  return relayout<layout<typename X::mesh_type>>(complete(x)).local();
}

/// The number in a tensor without dimensions, reduced. Refused: a tensor with dimensions.
template <tensor_type X>
auto item(X const& x) {
  if constexpr (X::shape_type::ndim == 0) {
    return complete(x).local()[0];
  } else {
    static_assert(detail::never<X>,
                  "mtf: item takes a tensor without dimensions, which holds one number: write mtf::item(mtf::mean(x)) "
                  "or sum, or all of its elements, mtf::to_global(x)");
    return typename X::element_type{};
  }
}
inline double item(refused const&) { return 0; }
inline std::vector<float> to_global(refused const&) { return {}; }

}  // namespace mtf
