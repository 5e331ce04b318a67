// The position of the largest element.
// expect: error: static assertion failed.*mtf: there is no argmax: mtf::top_k<dim, one>
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x) { return x == mtf::reduce_max<hidden>(x); }
#else
auto f(tensor<batch, hidden> const& x) { return mtf::argmax<hidden>(x); }
#endif
