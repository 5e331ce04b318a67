// A shape names a dimension twice.
// expect[GNU]: error_dim_twice<batch>
// expect[Clang]: error_dim_twice<batch>
// expect[NVIDIA]: error_dim_twice<.*batch
// expect: error: static assertion failed.*mtf: a shape names a dimension twice
#include "names.hpp"

#ifdef MTF_CONTROL
using it = tensor<batch, hidden>;
#else
using it = tensor<batch, hidden, batch>;
#endif

it x;
