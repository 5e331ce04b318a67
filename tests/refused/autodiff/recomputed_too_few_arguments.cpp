// A function that is computed again is not given all that it takes.
// expect[GNU]: error_not_callable<.*lambda
// expect[Clang]: error_not_callable<.*lambda
// expect[NVIDIA]: error_not_callable<
// expect: error: static assertion failed.*mtf: a function cannot be called with the arguments that it would get
#include "names.hpp"

auto layer(tensor<batch, hidden> const& x, [[maybe_unused]] tensor<hidden> const& scale) {
  auto const f = [](auto const& y, auto const& s) { return mtf::tanh(y * s); };
#ifdef MTF_CONTROL
  return mtf::mean(mtf::recompute(f, x, scale));
#else
  return mtf::mean(mtf::recompute(f, x));
#endif
}
