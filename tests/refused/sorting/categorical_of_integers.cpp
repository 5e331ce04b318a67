// A choice by chance among integers.
// expect[GNU]: error_element_type<int>
// expect[Clang]: error_element_type<int>
// expect[NVIDIA]: error_element_type<.*int
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include "names.hpp"

#include <mtf/ops/sorting.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, vocab> const& x) { return mtf::categorical<vocab>(x, mtf::random_key(1)); }
#else
auto f(numbers<batch, vocab> const& x) { return mtf::categorical<vocab>(x, mtf::random_key(1)); }
#endif
