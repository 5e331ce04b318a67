// A step by hand, in place.
// expect: error: static assertion failed.*mtf: a gradient is no tensor
#include "names.hpp"
#include "autodiff/weights.hpp"

#ifdef MTF_CONTROL
void f(parameters& p, gradients const& g) { p.w = p.w - g.w.complete(); }
#else
void f(parameters& p, gradients const& g) { p.w -= g.w; }
#endif
