// A tensor of integers times a fractional number.
// expect[GNU]: error_fractional_number<int, double>
// expect[Clang]: error_fractional_number<int, double>
// expect[NVIDIA]: error_fractional_number<.*int, double>
// expect: error: static assertion failed.*mtf: a tensor of integers or bools meets a floating-point number
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(numbers<batch> const& x) { return mtf::mean(mtf::cast<float>(x) * 0.5 + mtf::cast<float>(x / 2)); }
#else
auto f(numbers<batch> const& x) { return mtf::mean(x * 0.5 + mtf::cast<float>(x / 2)); }
#endif
