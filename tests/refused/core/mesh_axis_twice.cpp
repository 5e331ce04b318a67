// A mesh names an axis twice.
// expect[GNU]: error_axis_twice<data>
// expect[Clang]: error_axis_twice<data>
// expect[NVIDIA]: error_axis_twice<.*data
// expect: error: static assertion failed.*mtf: a mesh, or one split, names an axis twice
#include "names.hpp"

#ifdef MTF_CONTROL
using it = mtf::mesh<data, model>;
#else
using it = mtf::mesh<data, model, data>;
#endif

constexpr int processors = it::size;
