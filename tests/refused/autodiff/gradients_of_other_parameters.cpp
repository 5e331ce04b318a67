// Gradients that lack a field of what the optimizer updates.
// expect: error: static assertion failed.*mtf: an optimizer takes the gradients of its own parameters
#include "names.hpp"
#include "autodiff/weights.hpp"

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
