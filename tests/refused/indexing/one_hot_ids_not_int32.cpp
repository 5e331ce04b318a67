// Rows with a 1 where floating-point numbers say.
// expect[GNU]: error_element_type<float>
// expect[Clang]: error_element_type<float>
// expect[NVIDIA]: error_element_type<.*float
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include "names.hpp"

#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
auto f(numbers<batch> const& ids) { return mtf::one_hot<digit>(ids); }
#else
auto f(tensor<batch> const& ids) { return mtf::one_hot<digit>(ids); }
#endif
