// Of the result, the axis that splits a dimension splits another one too.
// expect[GNU]: error_two_dims_on_one_axis<heads, hidden, model>
// expect[Clang]: error_two_dims_on_one_axis<heads, hidden, model>
// expect[NVIDIA]: error_two_dims_on_one_axis<.*heads
// expect: error: static assertion failed.*mtf: the layout is not injective
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct all_heads : mtf::dim<"all_heads", 16 * 64> {};
struct d_head : mtf::dim<"d_head", 64> {};

#ifdef MTF_CONTROL
auto f(tensor<batch, all_heads, sequence> const& x) { return mtf::split_dim<all_heads, heads, d_head>(x); }
#else
auto f(tensor<batch, all_heads, hidden> const& x) { return mtf::split_dim<all_heads, heads, d_head>(x); }
#endif
