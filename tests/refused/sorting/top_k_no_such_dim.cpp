// The largest elements along a dimension that a tensor lacks; both results are refused with it.
// expect[GNU]: error_no_such_dim<vocab, mtf::shape<batch, hidden>
// expect[Clang]: error_no_such_dim<vocab, mtf::shape<batch, hidden>
// expect[NVIDIA]: error_no_such_dim<.*vocab
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#include <mtf/ops/sorting.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, vocab> const& x) {
#else
auto f(tensor<batch, hidden> const& x) {
#endif
  auto const [largest, places] = mtf::top_k<vocab, digit>(x);
  return mtf::mean(mtf::square(largest)) + mtf::mean(mtf::cast<float>(places));
}
