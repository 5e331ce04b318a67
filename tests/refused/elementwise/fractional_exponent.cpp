// A fractional exponent of bools; clip's bounds are such numbers too.
// expect[GNU]: error_fractional_number<bool, float>
// expect[Clang]: error_fractional_number<bool, float>
// expect[NVIDIA]: error_fractional_number<.*bool, float>
// expect: error: static assertion failed.*mtf: a tensor of integers or bools meets a floating-point number
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(numbers<batch> const& x) { return mtf::clip(mtf::pow(x > 0, 2), 0, 1); }
#else
auto f(numbers<batch> const& x) { return mtf::clip(mtf::pow(x > 0, 0.5F), 0, 1); }
#endif
