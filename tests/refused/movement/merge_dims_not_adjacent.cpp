// Two dimensions become one that are not neighbours, or the inner one first.
// expect[GNU]: error_dims_not_adjacent<heads, d_head, mtf::shape<batch, d_head, heads>
// expect[Clang]: error_dims_not_adjacent<heads, d_head, mtf::shape<batch, d_head, heads>
// expect[NVIDIA]: error_dims_not_adjacent<.*heads
// expect: error: static assertion failed.*mtf: two dimensions that become one are neighbours in their tensor
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct d_head : mtf::dim<"d_head", 64> {};

#ifdef MTF_CONTROL
auto f(tensor<batch, heads, d_head> const& x) { return mtf::merge_dims<heads, d_head, hidden>(x); }
#else
auto f(tensor<batch, d_head, heads> const& x) { return mtf::merge_dims<heads, d_head, hidden>(x); }
#endif
