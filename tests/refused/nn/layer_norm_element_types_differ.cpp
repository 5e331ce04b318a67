// The scale of a normalization has another element type than the tensor.
// expect[GNU]: error_element_types_differ<float, mtf::bfloat16>
// expect[Clang]: error_element_types_differ<float, mtf::bfloat16>
// expect[NVIDIA]: error_element_types_differ<.*float
// expect: error: static assertion failed.*mtf: operands have different element types
#include "names.hpp"

template <class... Dims>
using narrow = mtf::place<mtf::bfloat16, where, mtf::trace>::tensor<Dims...>;

#ifdef MTF_CONTROL
auto f(narrow<batch, hidden> const& x, narrow<hidden> const& g) { return mtf::layer_norm<hidden>(x, g, g); }
#else
auto f(tensor<batch, hidden> const& x, narrow<hidden> const& g) { return mtf::layer_norm<hidden>(x, g, g); }
#endif
