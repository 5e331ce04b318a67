// A cotangent is split otherwise than its operand.
// expect[GNU]: error_split_differently<batch, .*model
// expect[Clang]: error_split_differently<batch, .*model
// expect[NVIDIA]: error_split_differently<
// expect: error: static assertion failed.*mtf: two operands split one dimension differently
#include "names.hpp"

#include <mtf/autodiff/custom_vjp.hpp>

auto same(tensor<batch, digit> const& x) {
  auto const forward = [](auto const& y) { return y; };
#ifdef MTF_CONTROL
  return mtf::custom_vjp(forward, [](auto const& g) { return g; }, x);
#else
  return mtf::custom_vjp(forward, [](auto const& g) { return mtf::relayout<elsewhere>(g); }, x);
#endif
}
