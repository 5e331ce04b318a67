// A gradient given to an operation; what follows says nothing more.
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
double f(gradients const& g) { return mtf::item(mtf::sum(mtf::abs(g.w.complete()))); }
#else
double f(gradients const& g) { return mtf::item(mtf::sum(mtf::abs(g.w))); }
#endif
