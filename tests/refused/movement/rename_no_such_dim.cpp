// A dimension is renamed that the tensor lacks.
// expect[GNU]: error_no_such_dim<memory, mtf::shape<batch, hidden>
// expect[Clang]: error_no_such_dim<memory, mtf::shape<batch, hidden>
// expect[NVIDIA]: error_no_such_dim<.*memory
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, memory> const& x) { return mtf::rename<memory, sequence>(x); }
#else
auto f(tensor<batch, hidden> const& x) { return mtf::rename<memory, sequence>(x); }
#endif
