// A layout that is a type divides its dimensions when it is compiled.
// expect: error_extent_is_a_value<length>|error_extent_is_a_value
// expect: error: static assertion failed.*mtf: a layout that is a type takes dimensions with an extent, dim<name, extent>
#include "names.hpp"

#ifdef MTF_CONTROL
struct length : mtf::dim<"length", 8> {};
#else
struct length : mtf::dim<"length"> {};
#endif
using it = mtf::layout<machine, mtf::split<length, data>>;
constexpr bool checked = it::checked::value;
