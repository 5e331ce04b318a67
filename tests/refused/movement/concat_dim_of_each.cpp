// Three tensors are joined along two dimensions.
// expect[GNU]: error_not_one_dim_each<2, 3>
// expect[Clang]: error_not_one_dim_each<2, 3>
// expect[NVIDIA]: error_not_one_dim_each<.*2
// expect: error: static assertion failed.*mtf: tensors are joined along one dimension of each
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct all : mtf::dim<"all", 10 + 512 + 10> {};

auto f(tensor<batch, digit> const& x, tensor<batch, vocab> const& y) {
#ifdef MTF_CONTROL
  return mtf::concat<all, digit, vocab, digit>(x, y, x);
#else
  return mtf::concat<all, digit, vocab>(x, y, x);
#endif
}
