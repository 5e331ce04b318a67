// The function calls one of plain numbers, which has no derivative.
// expect[GNU]: error_no_derivative<float>
// expect[Clang]: error_no_derivative<float>
// expect[NVIDIA]: error_no_derivative<.*float
// expect: error: static assertion failed.*mtf: a function given to map calls one of plain numbers, such as std::exp
#include "names.hpp"
#include <cmath>

#ifdef MTF_CONTROL
auto f(tensor<batch> const& x) { return mtf::map([](auto a) { return 1 / (1 + mtf::math::exp(-a)); }, x) * 2; }
auto without_derivative(tensor<batch> const& x) { return mtf::map([](float a) { return std::exp(a); }, x); }
#else
auto f(tensor<batch> const& x) { return mtf::map([](auto a) { return 1 / (1 + std::exp(-a)); }, x) * 2; }
#endif
