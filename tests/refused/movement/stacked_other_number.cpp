// Two tensors are stacked along a dimension that is not two long.
// expect[GNU]: error_not_as_many<digit, 2
// expect[Clang]: error_not_as_many<digit, 2
// expect[NVIDIA]: error_not_as_many<
// expect: error: static assertion failed.*mtf: a dimension along which tensors are stacked is as long as they are many
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct two : mtf::dim<"two", 2> {};

#ifdef MTF_CONTROL
auto f(tensor<batch, hidden> const& x, tensor<hidden, batch> const& y) { return mtf::stacked<two>(x, y); }
#else
auto f(tensor<batch, hidden> const& x, tensor<hidden, batch> const& y) { return mtf::stacked<digit>(x, y); }
#endif
