// Two tensors become one that do not have the same other dimensions.
// expect[GNU]: error_no_such_dim<batch, mtf::shape<sequence, vocab>
// expect[Clang]: error_no_such_dim<batch, mtf::shape<sequence, vocab>
// expect[NVIDIA]: error_no_such_dim<.*batch
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct both : mtf::dim<"both", 10 + 512> {};

#ifdef MTF_CONTROL
auto f(tensor<batch, digit> const& x, tensor<vocab, batch> const& y) { return mtf::concat<both, digit, vocab>(x, y); }
#else
auto f(tensor<batch, digit> const& x, tensor<sequence, vocab> const& y) {
  return mtf::concat<both, digit, vocab>(x, y);
}
#endif
