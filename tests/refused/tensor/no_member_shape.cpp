// The shape of a tensor, asked of the tensor.
// expect: error: static assertion failed.*mtf: a tensor has no member shape\(\)
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x) { return std::remove_cvref_t<decltype(x)>::shape_type{}; }
#else
auto f(tensor<batch, hidden> const& x) { return x.shape(); }
#endif
