// The layout splits what is kept of the updates and where they are added over one axis.
// expect[GNU]: error_two_dims_on_one_axis<heads, hidden, model>
// expect[Clang]: error_two_dims_on_one_axis<heads, hidden, model>
// expect[NVIDIA]: error_two_dims_on_one_axis<.*hidden
// expect: error: static assertion failed.*mtf: the layout is not injective
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

auto f(numbers<batch> const& ids, tensor<batch, hidden> const& x) {
#ifdef MTF_CONTROL
  return mtf::scatter_add<digit>(ids, x);
#else
  return mtf::scatter_add<heads>(ids, x);
#endif
}
