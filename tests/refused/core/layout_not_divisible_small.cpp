// An extent is less than the number of processors: there is no smaller one that fits.
// expect[GNU]: error_not_divisible<small, 3, 4, mtf::nearest<0, 4>
// expect[Clang]: error_not_divisible<small, 3, 4, mtf::nearest<0, 4>
// expect[NVIDIA]: error_not_divisible<.*small
// expect: error: static assertion failed.*mtf: the processors that split a dimension do not divide its extent
#include "names.hpp"

struct small : mtf::dim<"small", 3> {};

#ifdef MTF_CONTROL
using it = mtf::layout<machine>;
#else
using it = mtf::layout<machine, mtf::split<small, model> >;
#endif

mtf::place<float, it>::tensor<small> x;
