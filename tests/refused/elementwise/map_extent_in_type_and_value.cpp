// One name with its extent in a type, and as a value.
// expect[GNU]: error_one_name_two_extents<batch, batch_as_value>
// expect[Clang]: error_one_name_two_extents<batch, batch_as_value>
// expect[NVIDIA]: error_one_name_two_extents<.*batch
// expect: error: static assertion failed.*mtf: one dimension name has two extents in one operation
#include "names.hpp"

struct batch_as_value : mtf::dim<"batch"> {};
template <class... Dims>
using under_any = mtf::place<float, mtf::any_layout<>, mtf::trace>::tensor<Dims...>;

#ifdef MTF_CONTROL
auto sum(under_any<batch> const& x, under_any<batch> const& y) { return x + y; }
#else
auto sum(under_any<batch> const& x, under_any<batch_as_value> const& y) { return x + y; }
#endif
