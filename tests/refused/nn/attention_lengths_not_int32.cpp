// The lengths of an attention's sequences are not int32.
// expect[GNU]: error_element_type<float>
// expect[Clang]: error_element_type<float>
// expect[NVIDIA]: error_element_type<.*float
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include "names.hpp"

#include <mtf/ops/nn/attention.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, numbers<batch> const& lengths) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), lengths, 1);
}
#else
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, tensor<batch> const& lengths) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), lengths, 1);
}
#endif
