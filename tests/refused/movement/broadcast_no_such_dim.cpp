// A broadcast to a shape that lacks one of the tensor's dimensions.
// expect[GNU]: error_no_such_dim<sequence, mtf::shape<batch, hidden>
// expect[Clang]: error_no_such_dim<sequence, mtf::shape<batch, hidden>
// expect[NVIDIA]: error_no_such_dim<.*sequence
// expect[c++26]: does not have; here: sequence 32, .batch 64, hidden 1024
// expect[GNU]: broadcast_call<batch, hidden>
// expect[Clang]: broadcast_call<batch, hidden>
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence> const& x) { return mtf::broadcast<batch, sequence, hidden>(x); }
#else
auto f(tensor<batch, sequence> const& x) { return mtf::broadcast<batch, hidden>(x); }
#endif
