// The values of an attention lack a dimension that its queries have.
// expect[GNU]: error_shapes_differ<mtf::shape<memory, digit>, mtf::shape<heads, digit, memory>
// expect[Clang]: error_shapes_differ<mtf::shape<memory, digit>, mtf::shape<heads, digit, memory>
// expect[NVIDIA]: error_shapes_differ<
// expect: error: static assertion failed.*mtf: two shapes must name the same dimensions here
#include "names.hpp"

#include <mtf/ops/nn/attention.hpp>

#ifdef MTF_CONTROL
auto f(tensor<sequence, heads, digit> const& q, tensor<memory, heads, digit> const& k, tensor<memory, heads, digit> const& v) {
  return mtf::attention<sequence, memory, digit>(q, k, v, mtf::visible::causal(), 1);
}
#else
auto f(tensor<sequence, heads, digit> const& q, tensor<memory, heads, digit> const& k, tensor<memory, digit> const& v) {
  return mtf::attention<sequence, memory, digit>(q, k, v, mtf::visible::causal(), 1);
}
#endif
