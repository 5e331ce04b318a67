// A layout of splits alone.
// expect[GNU]: error_not_a_mesh<mtf::split<batch, data>
// expect[Clang]: error_not_a_mesh<mtf::split<batch, data>
// expect[NVIDIA]: error_not_a_mesh<
// expect: error: static assertion failed.*mtf: a mesh is expected first
#include "names.hpp"

#ifdef MTF_CONTROL
using by_data = mtf::layout<machine, mtf::split<batch, data>>;
#else
using by_data = mtf::layout<mtf::split<batch, data>>;
#endif

template <class... Dims>
using placed = mtf::place<float, by_data, mtf::trace>::tensor<Dims...>;
auto f(placed<batch, hidden> const& x) { return mtf::mean(mtf::softmax<batch>(x)); }
