// A broadcast names one of the tensor's dimensions with another extent.
// expect[GNU]: error_one_name_two_extents<small_batch, batch>
// expect[Clang]: error_one_name_two_extents<small_batch, batch>
// expect[NVIDIA]: error_one_name_two_extents<.*small_batch
// expect: error: static assertion failed.*mtf: one dimension name has two extents in one operation
#include "names.hpp"

struct small_batch : mtf::dim<"batch", 32> {};

#ifdef MTF_CONTROL
auto f(tensor<batch> const& x) { return mtf::broadcast<batch, hidden>(x); }
#else
auto f(tensor<batch> const& x) { return mtf::broadcast<small_batch, hidden>(x); }
#endif
