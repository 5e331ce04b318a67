// The square root of integers.
// expect[GNU]: error_element_type<int>
// expect[Clang]: error_element_type<int>
// expect[NVIDIA]: error_element_type<.*int
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type: convert them by mtf::cast
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(numbers<batch, hidden> const& x) { return mtf::sqrt(mtf::cast<float>(x)) * 0.5; }
#else
auto f(numbers<batch, hidden> const& x) { return mtf::sqrt(x) * 0.5; }
#endif
