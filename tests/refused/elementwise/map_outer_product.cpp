// A product of tensors that share no dimension, perhaps by accident.
// expect[GNU]: error_no_shared_dim<mtf::shape<batch>, mtf::shape<hidden>
// expect[Clang]: error_no_shared_dim<mtf::shape<batch>, mtf::shape<hidden>
// expect[NVIDIA]: error_no_shared_dim<
// expect: error: static assertion failed.*mtf: a broadcast of tensors that share no dimension would be an outer product
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch> const& x, tensor<hidden> const& y) { return mtf::broadcast<batch, hidden>(x) * y; }
#else
auto f(tensor<batch> const& x, tensor<hidden> const& y) { return x * y; }
#endif
