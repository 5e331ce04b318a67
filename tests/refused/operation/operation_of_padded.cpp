// An operation of one's own that says nothing of pads, on a dimension that has some.
// expect[GNU]: error_dim_is_padded<words>
// expect[Clang]: error_dim_is_padded<words>
// expect[NVIDIA]: error_dim_is_padded<
// expect: error: static assertion failed.*mtf: an operation does not take a padded dimension
#include "operation/own.hpp"

#ifdef MTF_CONTROL
struct words : mtf::dim<"words", 50256, mtf::pad_to<8>> {};
#else
struct words : mtf::dim<"words", 50257, mtf::pad_to<8>> {};
#endif
using padded = tensor<batch, words>;
auto const y = own::beside(padded{}, padded{});
