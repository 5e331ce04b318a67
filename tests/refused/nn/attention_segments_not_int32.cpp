// The segments of an attention's keys are not int32.
// expect[GNU]: error_element_type<float>
// expect[Clang]: error_element_type<float>
// expect[NVIDIA]: error_element_type<.*float
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include <mtf/ops/nn.hpp>

#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, numbers<batch, sequence> const& of_queries,
       numbers<memory> const& of_keys) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), {.scale = 1},
                                                 mtf::attention_segments(of_queries, of_keys));
}
#else
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, numbers<batch, sequence> const& of_queries,
       tensor<memory> const& of_keys) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), {.scale = 1},
                                                 mtf::attention_segments(of_queries, of_keys));
}
#endif
