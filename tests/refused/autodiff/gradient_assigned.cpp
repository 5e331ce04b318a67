// A gradient assigned to a tensor.
// expect: error: static assertion failed.*mtf: a gradient is no tensor
#include "names.hpp"
#include "autodiff/weights.hpp"

#ifdef MTF_CONTROL
void f(parameters& p, gradients const& g) { p.w = g.w.complete(); }
#else
void f(parameters& p, gradients const& g) { p.w = g.w; }
#endif
