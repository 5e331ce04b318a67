// The keys of an attention still have the queries' dimension: they were not renamed.
// expect[GNU]: error_no_such_dim<memory, mtf::shape<sequence, heads, digit>
// expect[Clang]: error_no_such_dim<memory, mtf::shape<sequence, heads, digit>
// expect[NVIDIA]: error_no_such_dim<.*memory
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#include <mtf/ops/nn/attention.hpp>

#ifdef MTF_CONTROL
auto f(tensor<sequence, heads, digit> const& q, tensor<memory, heads, digit> const& k, tensor<memory, heads, digit> const& v) {
  return mtf::attention<sequence, memory, digit>(q, k, v, mtf::visible::causal(), 1);
}
#else
auto f(tensor<sequence, heads, digit> const& q, tensor<sequence, heads, digit> const& k, tensor<memory, heads, digit> const& v) {
  return mtf::attention<sequence, memory, digit>(q, k, v, mtf::visible::causal(), 1);
}
#endif
