// One split names an axis twice.
// expect[GNU]: error_axis_twice<rows>
// expect[Clang]: error_axis_twice<rows>
// expect[NVIDIA]: error_axis_twice<.*rows
// expect: error: static assertion failed.*mtf: a mesh, or one split, names an axis twice
#include "names.hpp"

#ifdef MTF_CONTROL
using rule = mtf::split<batch, rows, cols>;
#else
using rule = mtf::split<batch, rows, rows>;
#endif

mtf::place<float, mtf::layout<machine, rule>>::tensor<batch> x;
