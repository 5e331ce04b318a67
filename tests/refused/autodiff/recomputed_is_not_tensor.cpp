// What is computed again is two tensors.
// expect[GNU]: error_recomputed_is_not_tensor<std::pair<.*shape<batch, hidden>
// expect[Clang]: error_recomputed_is_not_tensor<std::pair<.*shape<batch, hidden>
// expect[NVIDIA]: error_recomputed_is_not_tensor<
// expect: error: static assertion failed.*mtf: recompute needs a function that returns a tensor
#include <utility>

#include "names.hpp"

auto layer(tensor<batch, hidden> const& x, tensor<hidden> const& scale) {
#ifdef MTF_CONTROL
  auto const y = mtf::recompute([](auto const& a, auto const& s) { return mtf::tanh(a * s); }, x, scale);
  return mtf::mean(y) + mtf::mean(x);
#else
  auto const y = mtf::recompute([](auto const& a, auto const& s) { return std::pair(mtf::tanh(a * s), a); }, x, scale);
  return mtf::mean(y) + mtf::mean(x);
#endif
}
