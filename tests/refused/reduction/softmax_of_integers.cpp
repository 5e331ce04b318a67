// The softmax of integers.
// expect[GNU]: error_element_type<int>
// expect[Clang]: error_element_type<int>
// expect[NVIDIA]: error_element_type<.*int
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type: convert them by mtf::cast
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(numbers<batch, hidden> const& x) { return mtf::softmax<hidden>(mtf::cast<float>(x)); }
#else
auto f(numbers<batch, hidden> const& x) { return mtf::softmax<hidden>(x); }
#endif
