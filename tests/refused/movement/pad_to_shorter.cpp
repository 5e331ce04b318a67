// A tensor within one that is shorter.
// expect[GNU]: error_part_too_long<vocab, digit>
// expect[Clang]: error_part_too_long<vocab, digit>
// expect[NVIDIA]: error_part_too_long<
// expect: error: static assertion failed.*mtf: a part of a dimension is at most as long as the dimension
#include "names.hpp"

#include <mtf/ops/movement.hpp>

#ifdef MTF_CONTROL
auto f(tensor<digit, batch> const& x) { return mtf::pad<digit, vocab>(x, 3); }
#else
auto f(tensor<vocab, batch> const& x) { return mtf::pad<vocab, digit>(x, 3); }
#endif
