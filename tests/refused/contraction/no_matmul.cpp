// A product of matrices by the name that other libraries give it.
// expect: error: static assertion failed.*mtf: there is no matmul: write mtf::einsum<rows, columns>
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<hidden, vocab> const& w) { return mtf::einsum<batch, vocab>(x, w); }
#else
auto f(tensor<batch, hidden> const& x, tensor<hidden, vocab> const& w) { return mtf::matmul(x, w); }
#endif
