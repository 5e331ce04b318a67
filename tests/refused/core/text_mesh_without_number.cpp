// A textual mesh gives an axis no number of processors.
// expect[GNU]: error_axis_without_size<mtf::name<.*"data:two"
// expect[Clang]: error_axis_without_size<mtf::name<.*"data:two"
// expect[NVIDIA]: error_axis_without_size<
// expect: error: static assertion failed.*mtf: a textual mesh gives an axis no number of processors
#include "names.hpp"

#ifdef MTF_CONTROL
using it = mtf::mesh_of<"data:2;model:4">;
#else
using it = mtf::mesh_of<"data:two;model:4">;
#endif

constexpr int processors = it::size;
