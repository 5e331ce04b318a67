// A gradient given to an operation; what follows says nothing more.
// expect: error: static assertion failed.*mtf: a gradient is no tensor
#include "names.hpp"
#include "autodiff/weights.hpp"

#ifdef MTF_CONTROL
double f(gradients const& g) { return mtf::item(mtf::sum(mtf::abs(g.w.complete()))); }
#else
double f(gradients const& g) { return mtf::item(mtf::sum(mtf::abs(g.w))); }
#endif
