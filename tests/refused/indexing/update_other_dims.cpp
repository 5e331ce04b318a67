// An update by a tensor that has not all dimensions.
// expect[GNU]: error_no_such_dim<hidden, mtf::shape<digit>
// expect[Clang]: error_no_such_dim<hidden, mtf::shape<digit>
// expect[NVIDIA]: error_no_such_dim<.*hidden
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include <utility>

#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(tensor<vocab, hidden> x, tensor<hidden, digit> const& y, numbers<> const& start) {
  return mtf::update<vocab, digit>(std::move(x), y, start);
}
#else
auto f(tensor<vocab, hidden> x, tensor<digit> const& y, numbers<> const& start) {
  return mtf::update<vocab, digit>(std::move(x), y, start);
}
#endif
