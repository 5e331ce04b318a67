// A normalization along a dimension that the tensor lacks.
// expect[GNU]: error_no_such_dim<digit, mtf::shape<batch, sequence>
// expect[Clang]: error_no_such_dim<digit, mtf::shape<batch, sequence>
// expect[NVIDIA]: error_no_such_dim<.*digit
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence> const& x, tensor<sequence> const& g) { return mtf::layer_norm<sequence>(x, g, g); }
#else
auto f(tensor<batch, sequence> const& x, tensor<digit> const& g) { return mtf::layer_norm<digit>(x, g, g); }
#endif
