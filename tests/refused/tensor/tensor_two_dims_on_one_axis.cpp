// Two dimensions of one tensor are split over one axis.
// expect[GNU]: error_two_dims_on_one_axis<hidden, heads, model>
// expect[Clang]: error_two_dims_on_one_axis<hidden, heads, model>
// expect[NVIDIA]: error_two_dims_on_one_axis<.*hidden
// expect: error: static assertion failed.*mtf: the layout is not injective: two dimensions of one tensor are split over
// one mesh axis
#include "names.hpp"

#ifdef MTF_CONTROL
using it = tensor<batch, hidden>;
#else
using it = tensor<batch, hidden, heads>;
#endif

it x;
