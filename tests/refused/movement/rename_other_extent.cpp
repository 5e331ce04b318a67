// A dimension is renamed to one of another extent.
// expect[GNU]: error_extents_differ<sequence, batch>
// expect[Clang]: error_extents_differ<sequence, batch>
// expect[NVIDIA]: error_extents_differ<.*sequence
// expect: error: static assertion failed.*mtf: a dimension can only be renamed to one of the same extent
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<sequence, hidden> const& x) { return mtf::rename<sequence, memory>(x); }
#else
auto f(tensor<sequence, hidden> const& x) { return mtf::rename<sequence, batch>(x); }
#endif
