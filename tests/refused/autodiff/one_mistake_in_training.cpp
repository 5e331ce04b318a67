// One mistake in a loss: the training loop around it says nothing more.
// expect[GNU]: error_output_dim_in_no_input<vocab, mtf::shape<batch, hidden>
// expect[Clang]: error_output_dim_in_no_input<vocab, mtf::shape<batch, hidden>
// expect[NVIDIA]: error_output_dim_in_no_input<.*vocab
// expect: error: static assertion failed.*mtf: the output of einsum names a dimension that no input has
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
using parameters = mlp<mtf::place<float, where, mtf::trace>::tensor>;

auto logits(parameters const& p, tensor<batch, hidden> const& x) {
#ifdef MTF_CONTROL
  return mtf::einsum<batch, digit>(x, p.w) + p.b;
#else
  return mtf::einsum<batch, vocab>(x, p.w) + p.b;
#endif
}

double train(mtf::trace& b, parameters p, tensor<batch, hidden> const& x, numbers<batch> const& labels) {
  auto const loss = [](auto const& q, auto const& inputs, auto const& l) {
    return mtf::mean(mtf::cross_entropy<digit>(logits(q, inputs), l));
  };
  mtf::adamw<parameters> optimizer(b, {});
  auto const [value, gradients] = mtf::value_and_grad(loss)(p, x, labels);
  double const norm = mtf::global_norm(b, gradients);
  optimizer.update(b, p, gradients, 1e-3);
  return norm + mtf::item(value);
}
