// A backward does not take what its forward gives it.
// expect[GNU]: error_not_callable<.*lambda
// expect[Clang]: error_not_callable<.*lambda
// expect[NVIDIA]: error_not_callable<
// expect: error: static assertion failed.*mtf: a function cannot be called with the arguments that it would get
#include "names.hpp"

#include <mtf/autodiff/custom_vjp.hpp>

auto squared(tensor<batch, hidden> const& x) {
#ifdef MTF_CONTROL
  auto const forward = [](auto const& y) { return std::pair(y * y, y); };
#else
  auto const forward = [](auto const& y) { return y * y; };
#endif
  return mtf::custom_vjp(forward, [](auto const& y, auto const& g) { return 2 * y * g; }, x);
}
