// MTF_FIELDS forgets a tensor.
// expect[GNU]: error_fields<mlp, 2, 1>
// expect[Clang]: error_fields<mlp, 2, 1>
// expect[NVIDIA]: error_fields<
// expect: error: static assertion failed.*mtf: the MTF_FIELDS of a structure do not name each of its tensors once
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
#ifdef MTF_CONTROL
  MTF_FIELDS(w, b);
#else
  MTF_FIELDS(w);
#endif
};
using parameters = mlp<mtf::place<float, where, mtf::trace>::tensor>;

double train(mtf::trace& b, parameters p, tensor<batch, hidden> const& x) {
  auto const loss = [](auto const& q, auto const& inputs) { return mtf::mean(mtf::einsum<batch, digit>(inputs, q.w) + q.b); };
  mtf::adamw<parameters> optimizer(b, {});
  auto const [value, gradients] = mtf::value_and_grad(loss)(p, x);
  double const norm = mtf::global_norm(b, gradients);
  optimizer.update(b, p, gradients, 1e-3);
  return norm + mtf::item(value);
}
