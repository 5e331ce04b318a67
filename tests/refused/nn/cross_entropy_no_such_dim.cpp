// The classes of a cross-entropy are a dimension that the logits lack.
// expect[GNU]: error_no_such_dim<digit, mtf::shape<batch, sequence>
// expect[Clang]: error_no_such_dim<digit, mtf::shape<batch, sequence>
// expect[NVIDIA]: error_no_such_dim<.*digit
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence> const& x, numbers<batch> const& labels) {
  return mtf::cross_entropy<sequence>(x, labels);
}
#else
auto f(tensor<batch, sequence> const& x, numbers<batch> const& labels) { return mtf::cross_entropy<digit>(x, labels); }
#endif
