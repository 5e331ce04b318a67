// Two tensors become one along a dimension that is not as long as both together.
// expect[GNU]: error_extents_do_not_add<memory, digit, vocab>
// expect[Clang]: error_extents_do_not_add<memory, digit, vocab>
// expect[NVIDIA]: error_extents_do_not_add<.*memory
// expect: error: static assertion failed.*mtf: a dimension that is made of others, one after the other, is as long as all
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct both : mtf::dim<"both", 10 + 512> {};

#ifdef MTF_CONTROL
auto f(tensor<batch, digit> const& x, tensor<batch, vocab> const& y) { return mtf::concat<both, digit, vocab>(x, y); }
#else
auto f(tensor<batch, digit> const& x, tensor<batch, vocab> const& y) { return mtf::concat<memory, digit, vocab>(x, y); }
#endif
