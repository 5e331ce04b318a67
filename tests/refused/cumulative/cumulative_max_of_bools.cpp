// A running maximum of bools.
// expect[GNU]: error_element_type<bool>
// expect[Clang]: error_element_type<bool>
// expect[NVIDIA]: error_element_type<.*bool
// expect: error: static assertion failed.*mtf: an operation does not take tensors of this element type
#include "names.hpp"

#include <mtf/ops/cumulative.hpp>

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x) { return mtf::cumulative_max<hidden>(mtf::cast<std::int32_t>(x > 0)); }
#else
auto f(tensor<batch, hidden> const& x) { return mtf::cumulative_max<hidden>(x > 0); }
#endif
