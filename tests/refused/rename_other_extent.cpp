// A dimension is renamed to one of another extent.
// expect: error_extents_differ<sequence, batch>
// expect: error: static assertion failed.*mtf: a dimension can only be renamed to one of the same extent
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<sequence, hidden> const& x) { return mtf::rename<sequence, memory>(x); }
#else
auto f(tensor<sequence, hidden> const& x) { return mtf::rename<sequence, batch>(x); }
#endif
