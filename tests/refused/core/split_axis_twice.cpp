// One split names an axis twice.
// expect[GNU]: error_axis_twice<data>
// expect[Clang]: error_axis_twice<data>
// expect[NVIDIA]: error_axis_twice<.*data
// expect: error: static assertion failed.*mtf: a mesh, or one split, names an axis twice
#include "names.hpp"

#ifdef MTF_CONTROL
using rule = mtf::split<batch, data, model>;
#else
using rule = mtf::split<batch, data, data>;
#endif

mtf::place<float, mtf::layout<machine, rule>>::tensor<batch> x;
