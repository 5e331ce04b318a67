// The loss takes an input that it does not get.
// expect[GNU]: error_not_callable<.*mlp
// expect[Clang]: error_not_callable<.*mlp
// expect[NVIDIA]: error_not_callable<
// expect: error: static assertion failed.*mtf: a function cannot be called with the arguments that it would get
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
  auto const [value, gradients] = mtf::value_and_grad(loss)(p);
#endif
  return mtf::item(value) + static_cast<double>(x.empty());
}
