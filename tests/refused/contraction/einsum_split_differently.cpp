// Two operands of einsum split one dimension differently.
// expect[GNU]: error_split_differently<batch, mtf::layout<
// expect[Clang]: error_split_differently<batch, mtf::layout<
// expect[NVIDIA]: error_split_differently<.*batch
// expect: error: static assertion failed.*mtf: two operands split one dimension differently
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, digit> const& x, tensor_elsewhere<batch> const& y) {
  return mtf::einsum<digit>(x, mtf::relayout<where>(y));
}
#else
auto f(tensor<batch, digit> const& x, tensor_elsewhere<batch> const& y) { return mtf::einsum<digit>(x, y); }
#endif
