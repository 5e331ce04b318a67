// The lengths of a masked softmax have the dimension that they are lengths of.
// expect[GNU]: error_no_such_dim<sequence, mtf::shape<batch
// expect[Clang]: error_no_such_dim<sequence, mtf::shape<batch
// expect[NVIDIA]: error_no_such_dim<.*sequence
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence> const& x, numbers<batch> const& lengths) { return mtf::masked_softmax<batch, sequence>(x, mtf::visible::causal(), lengths); }
#else
auto f(tensor<batch, sequence> const& x, numbers<batch, sequence> const& lengths) { return mtf::masked_softmax<batch, sequence>(x, mtf::visible::causal(), lengths); }
#endif
