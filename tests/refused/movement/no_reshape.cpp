// Other extents, by number, which have no names.
// expect: error: static assertion failed.*mtf: there is no reshape: mtf::split_dim<hidden, heads, d_head>
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x) { return mtf::transpose<hidden, batch>(x); }
#else
auto f(tensor<batch, hidden> const& x) { return mtf::reshape(x, {1024, 64}); }
#endif
