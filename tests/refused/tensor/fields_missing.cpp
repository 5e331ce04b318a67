// A structure of tensors without MTF_FIELDS.
// expect[GNU]: error_without_fields<mlp>
// expect[Clang]: error_without_fields<mlp>
// expect[NVIDIA]: error_without_fields<
// expect: error: static assertion failed.*mtf: a structure of tensors does not name its fields
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
#ifdef MTF_CONTROL
  MTF_FIELDS(w, b);
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
