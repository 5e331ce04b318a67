// mtf::sum along a dimension that the tensor lacks.
// expect[GNU]: error_no_such_dim<digit, mtf::shape<batch, sequence>
// expect[Clang]: error_no_such_dim<digit, mtf::shape<batch, sequence>
// expect[NVIDIA]: error_no_such_dim<.*digit
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence> const& x) { return mtf::sum<sequence>(x); }
#else
auto f(tensor<batch, sequence> const& x) { return mtf::sum<digit>(x); }
#endif
