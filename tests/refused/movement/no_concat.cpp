// Two tensors in one.
// expect: error: static assertion failed.*mtf: there is no concat: keep the parts as tensors of their own
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<batch, hidden> const& y) { return x + y; }
#else
auto f(tensor<batch, hidden> const& x, tensor<batch, hidden> const& y) { return mtf::concat<hidden>(x, y); }
#endif
