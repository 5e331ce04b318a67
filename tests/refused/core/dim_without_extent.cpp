// A dimension has no elements.
// expect: empty|0
// expect: error: static assertion failed.*mtf: a dimension has an extent of at least 1
#include "names.hpp"

#ifdef MTF_CONTROL
struct empty : mtf::dim<"empty", 1> {};
#else
struct empty : mtf::dim<"empty", 0> {};
#endif

constexpr auto extent = empty::extent;
