// The layout splits the heads, which no tensor of the program has.
// expect[GNU]: error_unused_rule<heads, mtf::layout<
// expect[Clang]: error_unused_rule<heads, mtf::layout<
// expect[NVIDIA]: error_unused_rule<.*heads
// expect: error: static assertion failed.*mtf: a layout splits a dimension that no tensor of the planned program has
#include "names.hpp"

constexpr auto square = [](auto const& x, auto const&...) { return mtf::square(x); };
#ifdef MTF_CONTROL
constexpr auto plan = mtf::plan_of<where>(square, mtf::input<float, batch, hidden>{}, mtf::input<float, heads>{});
#else
constexpr auto plan = mtf::plan_of<where>(square, mtf::input<float, batch, hidden>{});
#endif
