// A longer dimension would be split over the axis of another one.
// expect[GNU]: error_two_dims_on_one_axis<hidden, heads, model>
// expect[Clang]: error_two_dims_on_one_axis<hidden, heads, model>
// expect[NVIDIA]: error_two_dims_on_one_axis<.*hidden
// expect: error: static assertion failed.*mtf: the layout is not injective: two dimensions of one tensor are split over
// one mesh axis
#include "names.hpp"

#include <mtf/ops/movement.hpp>

#ifdef MTF_CONTROL
auto f(tensor<vocab, digit> const& x) { return mtf::pad<digit, heads>(x, 0); }
#else
auto f(tensor<hidden, digit> const& x) { return mtf::pad<digit, heads>(x, 0); }
#endif
