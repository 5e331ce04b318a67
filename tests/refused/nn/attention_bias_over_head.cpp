// The bias of an attention has the dimension that queries and keys are multiplied over.
// expect[GNU]: error_no_such_dim<digit, mtf::shape<batch, sequence, memory>
// expect[Clang]: error_no_such_dim<digit, mtf::shape<batch, sequence, memory>
// expect[NVIDIA]: error_no_such_dim<.*digit
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include <mtf/ops/nn.hpp>

#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, tensor<sequence, memory> const& bias) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), {.scale = 1}, mtf::attention_bias(bias));
}
#else
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, tensor<sequence, digit> const& bias) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), {.scale = 1}, mtf::attention_bias(bias));
}
#endif
