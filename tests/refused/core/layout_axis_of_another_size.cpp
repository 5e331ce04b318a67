// An axis has the name of one of the mesh, but another size.
// expect[GNU]: error_axis_not_in_mesh<batch, more_data, mtf::mesh<data, model>
// expect[Clang]: error_axis_not_in_mesh<batch, more_data, mtf::mesh<data, model>
// expect[NVIDIA]: error_axis_not_in_mesh<.*batch
// expect: error: static assertion failed.*mtf: a layout splits a dimension over an axis that its mesh lacks
#include "names.hpp"

#ifdef MTF_CONTROL
struct more_data : mtf::axis<"data", 2> {};
#else
struct more_data : mtf::axis<"data", 4> {};
#endif

mtf::place<float, mtf::layout<machine, mtf::split<batch, more_data>>>::tensor<batch> x;
