// The function returns what no tensor holds.
// expect[GNU]: error_element_type<long double>
// expect[Clang]: error_element_type<long double>
// expect[NVIDIA]: error_element_type<.*double
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type: convert them by mtf::cast
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch> const& x) { return mtf::map([](auto a) { return a * 2; }, x) + 1; }
#else
auto f(tensor<batch> const& x) { return mtf::map([](float a) { return a * 2.0L; }, x) + 1; }
#endif
