// Numbers become rows along a dimension that they have.
// expect[GNU]: error_dim_already_there<digit, mtf::shape<batch, digit>
// expect[Clang]: error_dim_already_there<digit, mtf::shape<batch, digit>
// expect[NVIDIA]: error_dim_already_there<.*digit
// expect: error: static assertion failed.*mtf: an operation would give a tensor a dimension that it already has
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(numbers<batch> const& ids) { return mtf::one_hot<digit>(ids); }
#else
auto f(numbers<batch, digit> const& ids) { return mtf::one_hot<digit>(ids); }
#endif
