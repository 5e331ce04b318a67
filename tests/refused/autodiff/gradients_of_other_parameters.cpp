// Gradients that lack a field of what the optimizer updates.
// expect: error: static assertion failed.*mtf: an optimizer takes the gradients of its own parameters
#include "names.hpp"

template <template <class...> class Tensor>
struct weights {
  Tensor<hidden> w, b;
  MTF_FIELDS(w, b);
};
using parameters = weights<tensor>;
using gradients = mtf::gradients_t<parameters>;

template <template <class...> class Tensor>
struct fewer {
  Tensor<hidden> w;
  MTF_FIELDS(w);
};

#ifdef MTF_CONTROL
double f(mtf::trace& b, parameters& p, gradients const& g) {
  return mtf::adamw<parameters>(b, {}).update(b, p, g, 1e-3);
}
#else
double f(mtf::trace& b, parameters& p, mtf::gradients_t<fewer<tensor>> const& g) {
  return mtf::adamw<parameters>(b, {}).update(b, p, g, 1e-3);
}
#endif
