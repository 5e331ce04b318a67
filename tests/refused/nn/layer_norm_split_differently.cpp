// The scale of a normalization is split differently than the tensor.
// expect[GNU]: error_split_differently<hidden, mtf::layout<
// expect[Clang]: error_split_differently<hidden, mtf::layout<
// expect[NVIDIA]: error_split_differently<.*hidden
// expect: error: static assertion failed.*mtf: two operands split one dimension differently
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<hidden> const& g) { return mtf::rms_norm<hidden>(x, g); }
#else
auto f(tensor<batch, hidden> const& x, tensor_elsewhere<hidden> const& g) { return mtf::rms_norm<hidden>(x, g); }
#endif
