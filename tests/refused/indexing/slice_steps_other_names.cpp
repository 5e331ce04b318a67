// Positions some steps apart, under a name that is there already.
// expect[GNU]: error_dim_already_there<batch, mtf::shape<vocab, batch>
// expect[Clang]: error_dim_already_there<batch, mtf::shape<vocab, batch>
// expect[NVIDIA]: error_dim_already_there<
// expect: error: static assertion failed.*mtf:
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(tensor<vocab, batch> const& x) { return mtf::slice<vocab, sequence>(x, 1, 2); }
#else
auto f(tensor<vocab, batch> const& x) { return mtf::slice<vocab, batch>(x, 1, 2); }
#endif
