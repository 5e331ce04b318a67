// Elements along a dimension that a tensor lacks.
// expect[GNU]: error_no_such_dim<digit, mtf::shape<batch, vocab>
// expect[Clang]: error_no_such_dim<digit, mtf::shape<batch, vocab>
// expect[NVIDIA]: error_no_such_dim<.*digit
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, vocab> const& x, numbers<batch> const& ids) { return mtf::gather<vocab>(x, ids); }
#else
auto f(tensor<batch, vocab> const& x, numbers<batch> const& ids) { return mtf::gather<digit>(x, ids); }
#endif
