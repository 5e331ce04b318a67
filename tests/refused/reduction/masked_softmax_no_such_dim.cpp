// The queries of a masked softmax are a dimension that the tensor lacks.
// expect[GNU]: error_no_such_dim<digit, mtf::shape<batch, sequence>
// expect[Clang]: error_no_such_dim<digit, mtf::shape<batch, sequence>
// expect[NVIDIA]: error_no_such_dim<.*digit
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence> const& x) { return mtf::masked_softmax<batch, sequence>(x, mtf::visible::causal()); }
#else
auto f(tensor<batch, sequence> const& x) { return mtf::masked_softmax<digit, sequence>(x, mtf::visible::causal()); }
#endif
