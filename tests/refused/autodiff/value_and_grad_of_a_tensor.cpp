// Gradients in a tensor by itself.
// expect[GNU]: error_not_parameters<mtf::tensor<
// expect[Clang]: error_not_parameters<mtf::tensor<
// expect[NVIDIA]: error_not_parameters<
// expect: error: static assertion failed.*mtf: gradients are taken in the tensors of a structure
#include "names.hpp"

template <template <class...> class Tensor>
struct weights {
  Tensor<batch> w;
  MTF_FIELDS(w);
};

#ifdef MTF_CONTROL
double f(weights<mtf::place<float, where, mtf::trace>::tensor> const& p) {
  auto const [value, gradients] = mtf::value_and_grad([](auto const& q) { return mtf::sum(q.w * q.w); })(p);
#else
double f(tensor<batch> const& p) {
  auto const [value, gradients] = mtf::value_and_grad([](auto const& w) { return mtf::sum(w * w); })(p);
#endif
  return mtf::item(value);
}
