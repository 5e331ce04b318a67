// A cotangent lacks a dimension of its operand.
// expect[GNU]: error_cotangent_differs<.*shape<batch>.*shape<batch, hidden>
// expect[Clang]: error_cotangent_differs<.*shape<batch>.*shape<batch, hidden>
// expect[NVIDIA]: error_cotangent_differs<
// expect: error: static assertion failed.*mtf: a cotangent has the dimensions and the elements of its operand
#include "names.hpp"

#include <mtf/autodiff/custom_vjp.hpp>

auto sum(tensor<batch, hidden> const& x) {
  auto const forward = [](auto const& y) { return mtf::sum<hidden>(y); };
#ifdef MTF_CONTROL
  return mtf::custom_vjp(forward, [](auto const& g) { return mtf::broadcast<batch, hidden>(g); }, x);
#else
  return mtf::custom_vjp(forward, [](auto const& g) { return g; }, x);
#endif
}
