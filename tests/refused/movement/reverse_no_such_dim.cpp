// A dimension is reversed that the tensor does not have.
// expect[GNU]: error_no_such_dim<vocab, mtf::shape<batch, digit>
// expect[Clang]: error_no_such_dim<vocab, mtf::shape<batch, digit>
// expect[NVIDIA]: error_no_such_dim<.*vocab
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#include <mtf/ops/movement.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, digit> const& x) { return mtf::reverse<digit>(x); }
#else
auto f(tensor<batch, digit> const& x) { return mtf::reverse<vocab>(x); }
#endif
