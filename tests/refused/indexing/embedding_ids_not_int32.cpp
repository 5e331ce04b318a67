// The numbers that an embedding looks up are not int32.
// expect[GNU]: error_element_type<float>
// expect[Clang]: error_element_type<float>
// expect[NVIDIA]: error_element_type<.*float
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<vocab, hidden> const& t, numbers<batch> const& ids) { return mtf::embedding<vocab>(t, ids); }
#else
auto f(tensor<vocab, hidden> const& t, tensor<batch> const& ids) { return mtf::embedding<vocab>(t, ids); }
#endif
