// A forward with a backward of its own returns a structure with a partial tensor.
// expect[GNU]: error_forward_is_partial<two<
// expect[Clang]: error_forward_is_partial<two<
// expect[NVIDIA]: error_forward_is_partial<
// expect: error: static assertion failed.*mtf: a tensor in the structure that the forward of a custom_vjp returns is
#include "names.hpp"

#include <mtf/autodiff/custom_vjp.hpp>

template <class X, class Y>
struct two {
  X same;
  Y sum;
  MTF_FIELDS(same, sum);
};
template <class X, class Y>
two(X, Y) -> two<X, Y>;
auto with_sum(tensor<batch, hidden> const& x) {
#ifdef MTF_CONTROL
  auto const forward = [](auto const& y) { return two{y, mtf::complete(mtf::sum<hidden>(y))}; };
#else
  auto const forward = [](auto const& y) { return two{y, mtf::sum<hidden>(y)}; };
#endif
  return mtf::custom_vjp(forward, [](auto const& g) { return g.same; }, x);
}
