// Batch norm's gamma has a dimension that is averaged over.
// expect[GNU]: error_shapes_differ<mtf::shape<batch, hidden>, mtf::shape<batch>
// expect[Clang]: error_shapes_differ<.*shape<batch, hidden>, .*shape<batch>
// expect[NVIDIA]: error_shapes_differ<
// expect: error: static assertion failed.*mtf: two shapes must name the same dimensions here
#include "names.hpp"

#include <mtf/ops/nn.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<hidden> const& p) { return std::get<0>(mtf::batch_norm<batch>(x, p, p)); }
#else
auto f(tensor<batch, hidden> const& x, tensor<batch> const& p) { return std::get<0>(mtf::batch_norm<batch>(x, p, p)); }
#endif
