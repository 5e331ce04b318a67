// A textual layout has two rules for one dimension.
// expect[GNU]: error_two_rules_for_dim<batch>
// expect[Clang]: error_two_rules_for_dim<batch>
// expect[NVIDIA]: error_two_rules_for_dim<.*batch
// expect: error: static assertion failed.*mtf: a layout has two rules for one dimension
#include "names.hpp"

#ifdef MTF_CONTROL
using it = mtf::layout_of<"data:2;model:4", "batch:data+model", batch>;
#else
using it = mtf::layout_of<"data:2;model:4", "batch:data;batch:model", batch>;
#endif

mtf::place<float, it>::tensor<batch> x;
