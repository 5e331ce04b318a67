// The output of einsum names a dimension with another extent than its input.
// expect[GNU]: error_one_name_two_extents<batch, small_batch>
// expect[Clang]: error_one_name_two_extents<batch, small_batch>
// expect[NVIDIA]: error_one_name_two_extents<.*batch
// expect: error: static assertion failed.*mtf: one dimension name has two extents in one operation
#include "names.hpp"

struct small_batch : mtf::dim<"batch", 32> {};

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<hidden, digit> const& y) { return mtf::einsum<batch, digit>(x, y); }
#else
auto f(tensor<batch, hidden> const& x, tensor<hidden, digit> const& y) { return mtf::einsum<small_batch, digit>(x, y); }
#endif
