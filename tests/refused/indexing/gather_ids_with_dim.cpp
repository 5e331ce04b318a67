// Elements along a dimension, named by numbers that have it.
// expect[GNU]: error_dim_already_there<vocab, mtf::shape<batch, vocab>
// expect[Clang]: error_dim_already_there<vocab, mtf::shape<batch, vocab>
// expect[NVIDIA]: error_dim_already_there<.*vocab
// expect: error: static assertion failed.*mtf: an operation would give a tensor a dimension that it already has
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, vocab> const& x, numbers<batch, digit> const& ids) { return mtf::gather<vocab>(x, ids); }
#else
auto f(tensor<batch, vocab> const& x, numbers<batch, vocab> const& ids) { return mtf::gather<vocab>(x, ids); }
#endif
