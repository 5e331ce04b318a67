// The loss is not a scalar.
// expect[GNU]: error_loss_is_not_scalar<.*shape<batch>
// expect[Clang]: error_loss_is_not_scalar<.*shape<batch>
// expect[NVIDIA]: error_loss_is_not_scalar<
// expect: error: static assertion failed.*mtf: value_and_grad needs a function that returns a scalar tensor
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
using parameters = mlp<mtf::place<float, where, mtf::trace>::tensor>;

#ifdef MTF_CONTROL
auto loss(parameters const& p, tensor<batch, hidden> const& x, numbers<batch> const& labels) {
  return mtf::mean(mtf::cross_entropy<digit>(mtf::einsum<batch, digit>(x, p.w) + p.b, labels));
}
#else
auto loss(parameters const& p, tensor<batch, hidden> const& x, numbers<batch> const& labels) {
  return mtf::cross_entropy<digit>(mtf::einsum<batch, digit>(x, p.w) + p.b, labels);
}
#endif

auto step(parameters const& p, tensor<batch, hidden> const& x, numbers<batch> const& labels) {
  return mtf::value_and_grad([](auto const&... args) { return loss(args...); })(p, x, labels);
}
