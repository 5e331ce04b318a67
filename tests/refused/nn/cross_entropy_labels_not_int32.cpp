// The labels of a cross-entropy are not int32.
// expect[GNU]: error_element_type<float>
// expect[Clang]: error_element_type<float>
// expect[NVIDIA]: error_element_type<.*float
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, digit> const& x, numbers<batch> const& labels) { return mtf::cross_entropy<digit>(x, labels); }
#else
auto f(tensor<batch, digit> const& x, tensor<batch> const& labels) { return mtf::cross_entropy<digit>(x, labels); }
#endif
