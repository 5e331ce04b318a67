// A forward with a backward of its own returns two tensors, and what backward needs.
// expect[GNU]: error_forward_is_not_tensor<std::tuple<
// expect[Clang]: error_forward_is_not_tensor<std::tuple<
// expect[NVIDIA]: error_forward_is_not_tensor<
// expect: error: static assertion failed.*mtf: the forward of a custom_vjp returns a tensor
#include "names.hpp"

#include <mtf/autodiff/custom_vjp.hpp>

template <class X>
struct two {
  X first, second;
  MTF_FIELDS(first, second);
};
auto twice(tensor<batch, hidden> const& x) {
#ifdef MTF_CONTROL
  auto const forward = [](auto const& y) { return std::pair(two<std::remove_cvref_t<decltype(y)>>{y, y}, 2); };
#else
  auto const forward = [](auto const& y) { return std::pair(std::tuple(y, y), 2); };
#endif
  return mtf::custom_vjp(forward, [](int, auto const& g) { return g.first + g.second; }, x);
}
