// The axis before the dimension.
// expect[GNU]: error_not_a_split<data, batch>
// expect[Clang]: error_not_a_split<data, batch>
// expect[NVIDIA]: error_not_a_split<
// expect: error: static assertion failed.*mtf: a rule of a layout is a split, of a dimension, then the axes that split it
#include "names.hpp"

#ifdef MTF_CONTROL
using by_data = mtf::layout<machine, mtf::split<batch, data>>;
#else
using by_data = mtf::layout<machine, mtf::split<data, batch>>;
#endif

template <class... Dims>
using placed = mtf::place<float, by_data, mtf::trace>::tensor<Dims...>;
auto f(placed<batch, hidden> const& x) { return mtf::mean(mtf::softmax<batch>(x)); }
