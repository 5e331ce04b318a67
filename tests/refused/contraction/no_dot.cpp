// A scalar product by the name that other libraries give it; what uses it says nothing more.
// expect: error: static assertion failed.*mtf: there is no dot: write mtf::einsum<>
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<hidden> const& x, tensor<hidden> const& y) { return mtf::item(2 * mtf::einsum<>(x, y)); }
#else
auto f(tensor<hidden> const& x, tensor<hidden> const& y) { return mtf::item(2 * mtf::dot(x, y)); }
#endif
