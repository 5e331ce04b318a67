// The backward of a function captures what may be gone then.
// expect[GNU]: error_backward_captures<.*lambda
// expect[Clang]: error_backward_captures<.*lambda
// expect[NVIDIA]: error_backward_captures<
// expect: error: static assertion failed.*mtf: custom_vjp calls its backward when what it captured may be gone
#include "names.hpp"

#include <mtf/autodiff/custom_vjp.hpp>

auto doubled(tensor<batch, hidden> const& x, [[maybe_unused]] float factor) {
  auto const forward = [](auto const& y, float by) { return std::pair(y * by, by); };
#ifdef MTF_CONTROL
  return mtf::custom_vjp(forward, [](float by, auto const& g) { return g * by; }, x, factor);
#else
  return mtf::custom_vjp(forward, [&](float, auto const& g) { return g * factor; }, x, factor);
#endif
}
