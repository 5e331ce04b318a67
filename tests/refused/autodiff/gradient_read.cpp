// The elements of a gradient, which may be partial.
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
auto f(gradients const& g) { return g.w.complete(); }
#else
auto f(gradients const& g) { return g.w.local(); }
#endif
