// A mesh names an axis twice.
// expect[GNU]: error_axis_twice<rows>
// expect[Clang]: error_axis_twice<rows>
// expect[NVIDIA]: error_axis_twice<.*rows
// expect: error: static assertion failed.*mtf: a mesh, or one split, names an axis twice
#include "names.hpp"

#ifdef MTF_CONTROL
using it = mtf::mesh<rows, cols>;
#else
using it = mtf::mesh<rows, cols, rows>;
#endif

constexpr int processors = it::size;
