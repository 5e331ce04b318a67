// A textual layout names an axis that its mesh lacks.
// expect[GNU]: error_unknown_name<mtf::name<.*"modle"
// expect[Clang]: error_unknown_name<mtf::name<.*"modle"
// expect[NVIDIA]: error_unknown_name<
// expect: error: static assertion failed.*mtf: a textual layout names a dimension or an axis that is not in the list
#include "names.hpp"

#ifdef MTF_CONTROL
using it = mtf::layout_of<"data:2;model:4", "batch:data;hidden:model", batch, hidden>;
#else
using it = mtf::layout_of<"data:2;model:4", "batch:data;hidden:modle", batch, hidden>;
#endif

mtf::place<float, it>::tensor<batch> x;
