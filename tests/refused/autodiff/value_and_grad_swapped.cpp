// The input before the parameters.
// expect[GNU]: error_not_parameters<mtf::tensor<
// expect[Clang]: error_not_parameters<mtf::tensor<
// expect[NVIDIA]: error_not_parameters<
// expect: error: static assertion failed.*mtf: gradients are taken in the tensors of a structure
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
using parameters = mlp<mtf::place<float, where, mtf::trace>::tensor>;

double f(parameters const& p, tensor<batch, hidden> const& x) {
  auto const loss = [](auto const& q, auto const& inputs) {
    return mtf::mean(mtf::einsum<batch, digit>(inputs, q.w) + q.b);
  };
#ifdef MTF_CONTROL
  auto const [value, gradients] = mtf::value_and_grad(loss)(p, x);
#else
  auto const [value, gradients] = mtf::value_and_grad(loss)(x, p);
#endif
  return mtf::item(value);
}
