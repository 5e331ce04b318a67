// One mistake at the start of a loss: all that follows says nothing more.
// expect[GNU]: error_split_differently<batch, mtf::layout<
// expect[Clang]: error_split_differently<batch, mtf::layout<
// expect[NVIDIA]: error_split_differently<.*batch
// expect: error: static assertion failed.*mtf: two operands split one dimension differently
#include "names.hpp"

struct wide : mtf::dim<"wide", 1024> {};

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
using parameters = mlp<mtf::place<float, where, mtf::trace>::tensor>;

#ifdef MTF_CONTROL
auto mistake(tensor<batch, hidden> const& x, tensor_elsewhere<batch> const& y) { return x + mtf::relayout<where>(y); }
#else
auto mistake(tensor<batch, hidden> const& x, tensor_elsewhere<batch> const& y) { return x + y; }
#endif

auto loss(parameters const& p, tensor<batch, hidden> x, tensor_elsewhere<batch> const& y, tensor<hidden> const& g,
          numbers<batch> const& labels) {
  x = mtf::relu(mistake(x, y)) * 2 + x;
  auto const a = mtf::gelu(mistake(x, y));
  auto const b = mtf::dropout(mtf::layer_norm<hidden>(a, g, g), 0.1, mtf::random_key(1));
  auto const c = 1 - mtf::where(b < x, b, mtf::max(x, b / 3));
  auto const d =
      mtf::einsum<batch, hidden>(c, mtf::softmax<hidden>(c), mtf::broadcast<batch, hidden>(mtf::sum<batch>(c)));
  auto const e = mtf::rename<hidden, wide>(mtf::transpose<batch, hidden>(mtf::relayout<where>(mtf::cast<double>(d))));
  auto const f =
      mtf::complete(mtf::stop_gradient(mtf::rename<wide, hidden>(mtf::cast<float>(e)))) - mtf::logsumexp<hidden>(d);
  auto const logits = mtf::einsum<batch, digit>(f, p.w) + p.b;
  return mtf::mean(mtf::cross_entropy<digit>(logits, labels));
}
