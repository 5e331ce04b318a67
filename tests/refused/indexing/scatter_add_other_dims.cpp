// Updates are added where numbers say that have a dimension more.
// expect[GNU]: error_no_such_dim<sequence, mtf::shape<batch, hidden>
// expect[Clang]: error_no_such_dim<sequence, mtf::shape<batch, hidden>
// expect[NVIDIA]: error_no_such_dim<.*sequence
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(numbers<batch> const& ids, tensor<batch, hidden> const& x) { return mtf::scatter_add<vocab>(ids, x); }
#else
auto f(numbers<batch, sequence> const& ids, tensor<batch, hidden> const& x) { return mtf::scatter_add<vocab>(ids, x); }
#endif
