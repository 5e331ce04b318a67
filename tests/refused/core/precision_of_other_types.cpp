// A model cannot compute in a wider type than its parameters have.
// expect: error_precision<mtf::bfloat16, float, float, float>
// expect: error: static assertion failed.*mtf: a precision computes in the parameters' type, or in bfloat16
#include "names.hpp"

#ifdef MTF_CONTROL
using policy = mtf::precision<float, mtf::bfloat16, float>;
#else
using policy = mtf::precision<mtf::bfloat16, float, float>;
#endif
using weights = mtf::place<policy, where>::tensor<batch, hidden>;
