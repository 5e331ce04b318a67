// A gradient assigned to a tensor.
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
void f(parameters& p, gradients const& g) { p.w = g.w.complete(); }
#else
void f(parameters& p, gradients const& g) { p.w = g.w; }
#endif
