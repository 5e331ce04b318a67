// Gradients in a structure that is no template.
// expect[GNU]: error_not_parameters<parameters>
// expect[Clang]: error_not_parameters<parameters>
// expect[NVIDIA]: error_not_parameters<
// expect: error: static assertion failed.*mtf: gradients are taken in the tensors of a structure
#include "names.hpp"

#ifdef MTF_CONTROL
template <template <class...> class Tensor>
struct weights {
  Tensor<hidden, digit> w;
  MTF_FIELDS(w);
};
using parameters = weights<mtf::place<float, where, mtf::trace>::tensor>;
#else
struct parameters {
  tensor<hidden, digit> w;
};
#endif

double train(mtf::trace& b, parameters p, tensor<batch, hidden> const& x) {
  auto const loss = [](auto const& q, auto const& inputs) { return mtf::mean(mtf::einsum<batch, digit>(inputs, q.w)); };
  mtf::adamw<parameters> optimizer(b, {});
  auto const [value, gradients] = mtf::value_and_grad(loss)(p, x);
  optimizer.update(b, p, gradients, 1e-3);
  return mtf::item(value);
}
