// A slip in the user's own function: the compiler says it, and the library nothing more.
// expect[GNU]: loss_does_not_compile.cpp:.*error: .*has no member named 'weight'
// expect[Clang]: loss_does_not_compile.cpp:.*error: no member named 'weight'
// expect[NVIDIA]: loss_does_not_compile.cpp.*error: .*has no member .*weight
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
using parameters = mlp<mtf::place<float, where, mtf::trace>::tensor>;

constexpr auto loss = [](auto const& p, auto const& x) {
#ifdef MTF_CONTROL
  return mtf::mean(mtf::einsum<batch, digit>(x, p.w) + p.b);
#else
  return mtf::mean(mtf::einsum<batch, digit>(x, p.weight) + p.b);
#endif
};

double f(parameters const& p, tensor<batch, hidden> const& x) {
  auto const [value, gradients] = mtf::value_and_grad(loss)(p, x);
  return mtf::item(value);
}
