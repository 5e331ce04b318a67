// An attention has two biases: they are added up before.
// expect: error: static assertion failed.*mtf: besides options attention takes attention_bias, attention_lengths and attention_segments, each at most once
#include <mtf/ops/nn.hpp>

#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, tensor<sequence, memory> const& bias) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), {.scale = 1}, mtf::attention_bias(bias + bias));
}
#else
auto f(tensor<batch, sequence, digit> const& q, tensor<batch, memory, digit> const& k, tensor<sequence, memory> const& bias) {
  return mtf::attention<sequence, memory, digit>(q, k, k, mtf::visible::causal(), {.scale = 1}, mtf::attention_bias(bias),
                                                 mtf::attention_bias(bias));
}
#endif
