// The lengths of an attention are over its queries.
// expect[GNU]: error_no_such_dim<sequence, mtf::shape<batch>
// expect[Clang]: error_no_such_dim<sequence, mtf::shape<batch>
// expect[NVIDIA]: error_no_such_dim<.*sequence
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#include <mtf/ops/nn/attention.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, numbers<batch> const& lengths) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), lengths, 1);
}
#else
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, numbers<batch, sequence> const& lengths) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), lengths, 1);
}
#endif
