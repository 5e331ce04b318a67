// A tensor whose layout is a type, also one without splits, has its extents in types.
// expect: error_extent_is_a_value<length>|error_extent_is_a_value
// expect: error: static assertion failed.*mtf: a layout that is a type takes dimensions with an extent, dim<name, extent>
#include "names.hpp"

struct length : mtf::dim<"length"> {};
#ifdef MTF_CONTROL
using layout = mtf::any_layout<>;
#else
using layout = mtf::layout<machine>;
#endif
using it = mtf::place<float, layout, mtf::trace>::tensor<length>;
constexpr bool checked = it::checked::value;
