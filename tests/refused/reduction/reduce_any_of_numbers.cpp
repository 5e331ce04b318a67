// Whether one of some numbers holds.
// expect: error_element_type<.*float>
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type: convert them by mtf::cast
#include <mtf/ops/reduction.hpp>
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch> const& x) { return !mtf::reduce_any(x > 0.5); }
#else
auto f(tensor<batch> const& x) { return !mtf::reduce_any(x); }
#endif
