// The output of einsum names a dimension that no input has.
// expect[GNU]: error_output_dim_in_no_input<vocab, mtf::shape<batch, hidden>, mtf::shape<hidden, digit>
// expect[Clang]: error_output_dim_in_no_input<vocab, mtf::shape<batch, hidden>, mtf::shape<hidden, digit>
// expect[NVIDIA]: error_output_dim_in_no_input<.*vocab
// expect: error: static assertion failed.*mtf: the output of einsum names a dimension that no input has
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<hidden, digit> const& y) { return mtf::einsum<batch, digit>(x, y); }
#else
auto f(tensor<batch, hidden> const& x, tensor<hidden, digit> const& y) { return mtf::einsum<batch, vocab>(x, y); }
#endif
