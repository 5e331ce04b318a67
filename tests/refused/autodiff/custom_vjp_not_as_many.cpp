// A backward returns a cotangent of one operand of two.
// expect[GNU]: error_cotangents_not_as_many<.*tensor<float, mtf::shape<batch, hidden>.*2>
// expect[Clang]: error_cotangents_not_as_many<.*tensor<float, mtf::shape<batch, hidden>.*2>
// expect[NVIDIA]: error_cotangents_not_as_many<
// expect: error: static assertion failed.*mtf: the backward of a custom_vjp returns a cotangent for each operand
#include "names.hpp"

#include <mtf/autodiff/custom_vjp.hpp>

auto sum(tensor<batch, hidden> const& x, tensor<batch, hidden> const& y) {
  auto const forward = [](auto const& a, auto const& b) { return a + b; };
#ifdef MTF_CONTROL
  return mtf::custom_vjp(forward, [](auto const& g) { return std::tuple(g, g); }, x, y);
#else
  return mtf::custom_vjp(forward, [](auto const& g) { return g; }, x, y);
#endif
}
