// The operands of einsum have different element types.
// expect[GNU]: error_element_types_differ<float, mtf::bfloat16>
// expect[Clang]: error_element_types_differ<float, mtf::bfloat16>
// expect[NVIDIA]: error_element_types_differ<.*float
// expect: error: static assertion failed.*mtf: operands have different element types
#include "names.hpp"

template <class... Dims>
using narrow = mtf::place<mtf::bfloat16, where, mtf::trace>::tensor<Dims...>;

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, narrow<hidden, digit> const& y) {
  return mtf::einsum<batch, digit>(x, mtf::cast<float>(y));
}
#else
auto f(tensor<batch, hidden> const& x, narrow<hidden, digit> const& y) { return mtf::einsum<batch, digit>(x, y); }
#endif
