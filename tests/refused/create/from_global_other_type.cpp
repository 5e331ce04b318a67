// The elements given on the host have another type than the tensor.
// expect[GNU]: error_not_elements<std::vector<double>, float
// expect[Clang]: error_not_elements<std::vector<double.*>, float
// expect[NVIDIA]: error_not_elements<
// expect: error: static assertion failed.*mtf: from_global takes the elements as they are in the tensor
#include "names.hpp"

#ifdef MTF_CONTROL
tensor<batch> f(mtf::trace& b, std::vector<float> const& x) { return mtf::from_global<tensor<batch>>(b, x); }
#else
tensor<batch> f(mtf::trace& b, std::vector<double> const& x) { return mtf::from_global<tensor<batch>>(b, x); }
#endif
