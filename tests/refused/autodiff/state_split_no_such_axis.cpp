// An optimizer's state is split over an axis that the parameters' mesh lacks.
// expect[GNU]: error_no_such_axis<pods, mtf::mesh<data, model>
// expect[Clang]: error_no_such_axis<pods, mtf::mesh<data, model>
// expect[NVIDIA]: error_no_such_axis<.*pods
// expect: error: static assertion failed.*mtf: an optimizer's state is split over an axis that the parameters' mesh lacks
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
using parameters = mlp<tensor>;

#ifdef MTF_CONTROL
using state_split = mtf::state_split_over<data>;
#else
using state_split = mtf::state_split_over<pods>;
#endif

double train(mtf::trace& b, parameters p, tensor<batch, hidden> const& x, numbers<batch> const& labels) {
  auto const loss = [](auto const& q, auto const& inputs, auto const& l) {
    return mtf::mean(mtf::cross_entropy<digit>(mtf::einsum<batch, digit>(inputs, q.w) + q.b, l));
  };
  mtf::adamw<parameters, mtf::decay_weights, state_split> optimizer(b, {});
  auto const [value, gradients] = mtf::value_and_grad<state_split>(loss)(p, x, labels);
  return optimizer.update(b, p, gradients, 1e-3);
}
