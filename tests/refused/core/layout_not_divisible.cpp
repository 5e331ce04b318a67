// The processors do not divide an extent; the nearest extents that fit are offered.
// expect[GNU]: error_not_divisible<digit, 10, 4, mtf::nearest<8, 12>
// expect[Clang]: error_not_divisible<digit, 10, 4, mtf::nearest<8, 12>
// expect[NVIDIA]: error_not_divisible<.*digit
// expect: error: static assertion failed.*mtf: the processors that split a dimension do not divide its extent
#include "names.hpp"

#ifdef MTF_CONTROL
using it = mtf::layout<machine, mtf::split<digit, data>>;
#else
using it = mtf::layout<machine, mtf::split<digit, model>>;
#endif

mtf::place<float, it>::tensor<digit> x;
