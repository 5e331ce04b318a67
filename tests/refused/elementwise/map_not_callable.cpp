// A function of two arguments, and one tensor.
// expect[GNU]: error_not_callable<.*lambda.*, float>
// expect[Clang]: error_not_callable<.*lambda.*, float>
// expect[NVIDIA]: error_not_callable<
// expect: error: static assertion failed.*mtf: a function cannot be called with the arguments that it would get
#include "names.hpp"

auto const product = [](auto a, auto b) { return a * b; };

#ifdef MTF_CONTROL
auto f(tensor<batch> const& x) { return mtf::map(product, x, x) + 1; }
#else
auto f(tensor<batch> const& x) { return mtf::map(product, x) + 1; }
#endif
