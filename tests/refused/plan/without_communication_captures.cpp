// A function that must not communicate captures.
// expect[GNU]: error_captures<.*lambda
// expect[Clang]: error_captures<.*lambda
// expect[NVIDIA]: error_captures<
// expect: error: static assertion failed.*mtf: a function that runs in a constant expression must capture nothing
#include "names.hpp"

auto f(tensor<batch> const& x, tensor<batch> const& y) {
#ifdef MTF_CONTROL
  return mtf::relu(mtf::without_communication([](auto const& a, auto const& b) { return a * b; })(x, y));
#else
  return mtf::relu(mtf::without_communication([y](auto const& a) { return a * y; })(x));
#endif
}
