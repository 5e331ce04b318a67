// The output of einsum names a dimension twice.
// expect[GNU]: error_dim_twice<batch>
// expect[Clang]: error_dim_twice<batch>
// expect[NVIDIA]: error_dim_twice<.*batch
// expect: error: static assertion failed.*mtf: a shape names a dimension twice
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, digit> const& x) { return mtf::einsum<batch, digit>(x, x); }
#else
auto f(tensor<batch, digit> const& x) { return mtf::einsum<batch, batch>(x, x); }
#endif
