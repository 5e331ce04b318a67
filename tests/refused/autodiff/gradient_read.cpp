// The elements of a gradient, which may be partial.
// expect: error: static assertion failed.*mtf: a gradient is no tensor
#include "names.hpp"
#include "autodiff/weights.hpp"

#ifdef MTF_CONTROL
auto f(gradients const& g) { return g.w.complete(); }
#else
auto f(gradients const& g) { return g.w.local(); }
#endif
