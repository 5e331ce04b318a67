// Two operands of an addition cut one dimension differently.
// expect[GNU]: error_cut_differently<batch, mtf::layout<
// expect[Clang]: error_cut_differently<batch, mtf::layout<
// expect[NVIDIA]: error_cut_differently<.*batch
// expect: error: static assertion failed.*mtf: two operands cut one dimension differently
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, digit> const& x, tensor_elsewhere<batch> const& y) { return x + mtf::relayout<where>(y); }
#else
auto f(tensor<batch, digit> const& x, tensor_elsewhere<batch> const& y) { return x + y; }
#endif
