// The scale of a normalization has other dimensions than the one along which it goes.
// expect[GNU]: error_shapes_differ<mtf::shape<batch, hidden>, mtf::shape<hidden>
// expect[Clang]: error_shapes_differ<mtf::shape<batch, hidden>, mtf::shape<hidden>
// expect[NVIDIA]: error_shapes_differ<
// expect: error: static assertion failed.*mtf: two shapes must name the same dimensions here
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<hidden> const& g) { return mtf::layer_norm<hidden>(x, g, g); }
#else
auto f(tensor<batch, hidden> const& x, tensor<batch, hidden> const& g) { return mtf::layer_norm<hidden>(x, g, g); }
#endif
