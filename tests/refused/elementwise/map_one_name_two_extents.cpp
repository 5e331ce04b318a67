// One name has two extents in an addition.
// expect[GNU]: error_one_name_two_extents<batch, small_batch>
// expect[Clang]: error_one_name_two_extents<batch, small_batch>
// expect[NVIDIA]: error_one_name_two_extents<.*batch
// expect: error: static assertion failed.*mtf: one dimension name has two extents in one operation
#include "names.hpp"

struct small_batch : mtf::dim<"batch", 32> {};

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<batch> const& y) { return x + y; }
#else
auto f(tensor<batch, hidden> const& x, tensor<small_batch> const& y) { return x + y; }
#endif
