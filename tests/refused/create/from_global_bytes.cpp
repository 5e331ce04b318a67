// Bytes are not bools.
// expect[GNU]: error_not_elements<std::vector<unsigned char>, bool
// expect[Clang]: error_not_elements<std::vector<unsigned char.*>, bool
// expect[NVIDIA]: error_not_elements<
// expect: error: static assertion failed.*mtf: from_global takes the elements as they are in the tensor
#include "names.hpp"
#include <array>

using flags = mtf::place<bool, where, mtf::trace>::tensor<batch>;

#ifdef MTF_CONTROL
flags f(mtf::trace& b, std::array<bool, 64> const& x) { return mtf::from_global<flags>(b, x); }
#else
flags f(mtf::trace& b, std::vector<unsigned char> const& x) { return mtf::from_global<flags>(b, x); }
#endif
