// Attention by another library's name.
// expect: error: static assertion failed.*mtf: there is no scaled_dot_product_attention: write mtf::attention<query, key, head>
#include "names.hpp"

#include <mtf/ops/nn/attention.hpp>

auto const scale = 0.25;
#ifdef MTF_CONTROL
auto f(tensor<sequence, hidden> const& q, tensor<memory, hidden> const& k, tensor<memory, hidden> const& v) {
  return mtf::attention<sequence, memory, hidden>(q, k, v, mtf::visible::everything(), scale);
}
#else
auto f(tensor<sequence, hidden> const& q, tensor<memory, hidden> const& k, tensor<memory, hidden> const& v) {
  return mtf::scaled_dot_product_attention(q, k, v, scale);
}
#endif
