// A constant plan is asked for under a layout that only the running program knows.
// expect: error_layout_is_a_value<mtf::any_layout<
// expect: error: static assertion failed.*mtf: plan_of plans under a layout that is a type
#include "names.hpp"

#ifdef MTF_CONTROL
using known = mtf::layout<machine, mtf::split<batch, data>>;
#else
using known = mtf::any_layout<>;
#endif
constexpr auto plan = mtf::plan_of<known>([](auto const& x) { return mtf::relu(x); }, mtf::input<float, batch, hidden>{});
static_assert(plan.count() == 0);
