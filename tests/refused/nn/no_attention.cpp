// Attention without a word on its mask.
// expect: error: static assertion failed.*mtf: there is no attention: write mtf::causal_attention<query, key, head>
#include "names.hpp"

auto const scale = 0.25;
#ifdef MTF_CONTROL
auto f(tensor<sequence, hidden> const& q, tensor<memory, hidden> const& k, tensor<memory, hidden> const& v) {
  return mtf::einsum<sequence, hidden>(mtf::softmax<memory>(mtf::einsum<sequence, memory>(q, k), scale), v);
}
#else
auto f(tensor<sequence, hidden> const& q, tensor<memory, hidden> const& k, tensor<memory, hidden> const& v) {
  return mtf::attention<sequence, memory, hidden>(q, k, v, scale);
}
#endif
