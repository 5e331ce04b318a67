// An operation that is not right where a dimension has pads.
// expect[GNU]: error_dim_is_padded<words>
// expect[Clang]: error_dim_is_padded<words>
// expect[NVIDIA]: error_dim_is_padded<
// expect: error: static assertion failed.*mtf: an operation does not take a padded dimension
#include "names.hpp"
#include <mtf/ops/indexing.hpp>

#ifdef MTF_CONTROL
struct words : mtf::dim<"words", 50256, mtf::pad_to<8>> {};
#else
struct words : mtf::dim<"words", 50257, mtf::pad_to<8>> {};
#endif
auto f(tensor<batch, words> const& x) { return mtf::slice<words, digit>(x, 0); }
