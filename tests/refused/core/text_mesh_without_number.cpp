// A textual mesh gives an axis no number of processors.
// expect[GNU]: error_axis_without_size<mtf::name<.*"rows:two"
// expect[Clang]: error_axis_without_size<mtf::name<.*"rows:two"
// expect[NVIDIA]: error_axis_without_size<
// expect: error: static assertion failed.*mtf: a textual mesh gives an axis no number of processors
#include "names.hpp"

#ifdef MTF_CONTROL
using it = mtf::mesh_of<"rows:2;cols:4">;
#else
using it = mtf::mesh_of<"rows:two;cols:4">;
#endif

constexpr int processors = it::size;
