// A part of a dimension.
// expect: error: static assertion failed.*mtf: there is no slice: make the parts tensors of their own
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<vocab, hidden> const& x, numbers<digit> const& positions) { return mtf::embedding<vocab>(x, positions); }
#else
auto f(tensor<vocab, hidden> const& x, numbers<digit> const&) { return mtf::slice<vocab, 0, 10>(x); }
#endif
