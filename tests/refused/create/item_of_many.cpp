// The number in a tensor that has many.
// expect: error: static assertion failed.*mtf: item takes a tensor without dimensions
#include "names.hpp"

#ifdef MTF_CONTROL
double f(tensor<batch, hidden> const& x) { return mtf::item(mtf::mean(x)); }
#else
double f(tensor<batch, hidden> const& x) { return mtf::item(x); }
#endif
