// A layout of splits alone.
// expect[GNU]: error_not_a_mesh<mtf::split<batch, rows>
// expect[Clang]: error_not_a_mesh<mtf::split<batch, rows>
// expect[NVIDIA]: error_not_a_mesh<
// expect: error: static assertion failed.*mtf: a mesh is expected first
#include "names.hpp"

#ifdef MTF_CONTROL
using by_rows = mtf::layout<machine, mtf::split<batch, rows>>;
#else
using by_rows = mtf::layout<mtf::split<batch, rows>>;
#endif

template <class... Dims>
using placed = mtf::place<float, by_rows, mtf::trace>::tensor<Dims...>;
auto f(placed<batch, hidden> const& x) { return mtf::mean(mtf::softmax<batch>(x)); }
