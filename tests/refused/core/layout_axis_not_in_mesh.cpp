// A layout splits a dimension over an axis that its mesh lacks.
// expect[GNU]: error_axis_not_in_mesh<batch, pods, mtf::mesh<data, model>
// expect[Clang]: error_axis_not_in_mesh<batch, pods, mtf::mesh<data, model>
// expect[NVIDIA]: error_axis_not_in_mesh<.*batch
// expect: error: static assertion failed.*mtf: a layout splits a dimension over an axis that its mesh lacks
#include "names.hpp"

#ifdef MTF_CONTROL
using it = mtf::layout<machine, mtf::split<batch, data>>;
#else
using it = mtf::layout<machine, mtf::split<batch, pods>>;
#endif

mtf::place<float, it>::tensor<batch> x;
