// A tensor is partial over an axis that splits one of its dimensions.
// expect[GNU]: error_dim_split_where_partial<hidden, model>
// expect[Clang]: error_dim_split_where_partial<hidden, model>
// expect[NVIDIA]: error_dim_split_where_partial<.*hidden
// expect: error: static assertion failed.*mtf: a tensor cannot be partial over a mesh axis that also splits one of its
// dimensions
#include "names.hpp"

#ifdef MTF_CONTROL
using over = mtf::partial<data>;
#else
using over = mtf::partial<model>;
#endif

mtf::tensor<float, mtf::shape<hidden>, where, over> x;
