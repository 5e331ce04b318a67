// A part that begins where a floating-point number says.
// expect[GNU]: error_element_type<float>
// expect[Clang]: error_element_type<float>
// expect[NVIDIA]: error_element_type<.*float
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(tensor<vocab, hidden> const& x, numbers<> const& start) { return mtf::slice<vocab, digit>(x, start); }
#else
auto f(tensor<vocab, hidden> const& x, tensor<> const& start) { return mtf::slice<vocab, digit>(x, start); }
#endif
