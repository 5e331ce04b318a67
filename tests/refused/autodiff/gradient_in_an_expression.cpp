// A gradient in the place of a tensor, in what a step by hand would be.
// expect: error: static assertion failed.*mtf: a gradient is no tensor
#include "names.hpp"
#include "autodiff/weights.hpp"

#ifdef MTF_CONTROL
auto f(parameters const& p, gradients const& g) { return p.w - 0.1F * g.w.complete(); }
#else
auto f(parameters const& p, gradients const& g) { return p.w - 0.1F * g.w; }
#endif
