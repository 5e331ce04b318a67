// Integers to the power of integers.
// expect[GNU]: error_element_type<int>
// expect[Clang]: error_element_type<int>
// expect[NVIDIA]: error_element_type<.*int
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(numbers<batch> const& x, numbers<batch> const& y) { return mtf::pow(mtf::cast<float>(x), mtf::cast<float>(y)); }
#else
auto f(numbers<batch> const& x, numbers<batch> const& y) { return mtf::pow(x, y); }
#endif
