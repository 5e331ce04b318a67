// A gradient in the place of a tensor, in what a step by hand would be.
// expect: error: static assertion failed.*mtf: a gradient is no tensor
#include "names.hpp"

template <template <class...> class Tensor>
struct weights {
  Tensor<hidden> w, b;
  MTF_FIELDS(w, b);
};
using parameters = weights<tensor>;
using gradients = mtf::gradients_t<parameters>;

#ifdef MTF_CONTROL
auto f(parameters const& p, gradients const& g) { return p.w - 0.1F * g.w.complete(); }
#else
auto f(parameters const& p, gradients const& g) { return p.w - 0.1F * g.w; }
#endif
