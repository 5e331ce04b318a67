// A renamed dimension would be split over the axis of another one.
// expect[GNU]: error_two_dims_on_one_axis<hidden, heads, model>
// expect[Clang]: error_two_dims_on_one_axis<hidden, heads, model>
// expect[NVIDIA]: error_two_dims_on_one_axis<.*hidden
// expect: error: static assertion failed.*mtf: the layout is not injective: two dimensions of one tensor are split over
// one mesh axis
#include "names.hpp"

struct plain : mtf::dim<"plain", 16> {};

#ifdef MTF_CONTROL
auto f(tensor<digit, plain> const& x) { return mtf::rename<plain, heads>(x); }
#else
auto f(tensor<hidden, plain> const& x) { return mtf::rename<plain, heads>(x); }
#endif
