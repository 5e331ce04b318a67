// The largest element along a dimension that a tensor lacks.
// expect[GNU]: error_no_such_dim<vocab, mtf::shape<batch, hidden>
// expect[Clang]: error_no_such_dim<vocab, mtf::shape<batch, hidden>
// expect[NVIDIA]: error_no_such_dim<.*vocab
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#include <mtf/ops/sorting.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, vocab> const& x) { return mtf::argmax<vocab>(x); }
#else
auto f(tensor<batch, hidden> const& x) { return mtf::argmax<vocab>(x); }
#endif
