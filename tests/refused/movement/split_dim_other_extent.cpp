// A dimension becomes two, of which the product of the extents is another.
// expect[GNU]: error_extents_do_not_multiply<hidden, heads, digit>
// expect[Clang]: error_extents_do_not_multiply<hidden, heads, digit>
// expect[NVIDIA]: error_extents_do_not_multiply<.*hidden
// expect: error: static assertion failed.*mtf: a dimension that becomes two, or is made of two, is as long as the product
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct d_head : mtf::dim<"d_head", 64> {};

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x) { return mtf::split_dim<hidden, heads, d_head>(x); }
#else
auto f(tensor<batch, hidden> const& x) { return mtf::split_dim<hidden, heads, digit>(x); }
#endif
