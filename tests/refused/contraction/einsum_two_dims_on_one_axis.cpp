// The operands of einsum have two dimensions on one axis: their shards do not meet.
// expect[GNU]: error_two_dims_on_one_axis<hidden, heads, model>
// expect[Clang]: error_two_dims_on_one_axis<hidden, heads, model>
// expect[NVIDIA]: error_two_dims_on_one_axis<.*hidden
// expect: error: static assertion failed.*mtf: the layout is not injective: two dimensions of one tensor are split over
// one mesh axis
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<batch, digit> const& y) { return mtf::einsum<hidden, digit>(x, y); }
#else
auto f(tensor<batch, hidden> const& x, tensor<batch, heads> const& y) { return mtf::einsum<hidden, heads>(x, y); }
#endif
