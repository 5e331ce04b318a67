// Other extents, by number, which have no names.
// expect: error: static assertion failed.*mtf: there is no reshape: give a tensor the dimensions that it is to have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x) { return mtf::transpose<hidden, batch>(x); }
#else
auto f(tensor<batch, hidden> const& x) { return mtf::reshape(x, {1024, 64}); }
#endif
