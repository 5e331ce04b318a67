// The rows of the table and the numbers that look them up share a dimension.
// expect[GNU]: error_dim_already_there<batch, mtf::shape<batch, sequence>
// expect[Clang]: error_dim_already_there<batch, mtf::shape<batch, sequence>
// expect[NVIDIA]: error_dim_already_there<.*batch
// expect: error: static assertion failed.*mtf: an operation would give a tensor a dimension that it already has
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<vocab, digit> const& table, numbers<batch, sequence> const& ids) {
  return mtf::embedding<vocab>(table, ids);
}
#else
auto f(tensor<vocab, batch> const& table, numbers<batch, sequence> const& ids) {
  return mtf::embedding<vocab>(table, ids);
}
#endif
