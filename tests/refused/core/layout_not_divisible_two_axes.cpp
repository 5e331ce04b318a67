// The processors of two axes together do not divide an extent.
// expect[GNU]: error_not_divisible<odd, 20, 8, mtf::nearest<16, 24>
// expect[Clang]: error_not_divisible<odd, 20, 8, mtf::nearest<16, 24>
// expect[NVIDIA]: error_not_divisible<.*odd
// expect: error: static assertion failed.*mtf: the processors that split a dimension do not divide its extent
#include "names.hpp"

struct odd : mtf::dim<"odd", 20> {};

#ifdef MTF_CONTROL
using it = mtf::layout<machine, mtf::split<odd, model>>;
#else
using it = mtf::layout<machine, mtf::split<odd, data, model>>;
#endif

mtf::place<float, it>::tensor<odd> x;
