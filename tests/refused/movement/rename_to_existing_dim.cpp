// A dimension is renamed to one that the tensor already has.
// expect[GNU]: error_dim_already_there<memory, mtf::shape<sequence, memory>
// expect[Clang]: error_dim_already_there<memory, mtf::shape<sequence, memory>
// expect[NVIDIA]: error_dim_already_there<.*memory
// expect: error: static assertion failed.*mtf: an operation would give a tensor a dimension that it already has
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<sequence, batch> const& x) { return mtf::rename<sequence, memory>(x); }
#else
auto f(tensor<sequence, memory> const& x) { return mtf::rename<sequence, memory>(x); }
#endif
