// A transposition does not name all dimensions.
// expect[GNU]: error_shapes_differ<mtf::shape<batch, sequence, digit>, mtf::shape<sequence, batch>
// expect[Clang]: error_shapes_differ<mtf::shape<batch, sequence, digit>, mtf::shape<sequence, batch>
// expect[NVIDIA]: error_shapes_differ<
// expect: error: static assertion failed.*mtf: two shapes must name the same dimensions here
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence, digit> const& x) { return mtf::transpose<sequence, batch, digit>(x); }
#else
auto f(tensor<batch, sequence, digit> const& x) { return mtf::transpose<sequence, batch>(x); }
#endif
