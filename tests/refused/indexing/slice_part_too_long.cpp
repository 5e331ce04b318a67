// A part of a dimension that is longer than it.
// expect[GNU]: error_part_too_long<vocab, digit>
// expect[Clang]: error_part_too_long<vocab, digit>
// expect[NVIDIA]: error_part_too_long<
// expect: error: static assertion failed.*mtf: a part of a dimension is at most as long as the dimension
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(tensor<vocab, hidden> const& x, numbers<> const& start) { return mtf::slice<vocab, digit>(x, start); }
#else
auto f(tensor<digit, hidden> const& x, numbers<> const& start) { return mtf::slice<digit, vocab>(x, start); }
#endif
